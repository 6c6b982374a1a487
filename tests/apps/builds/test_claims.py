"""The writes of a worker that holds a build, and of one that held it before."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.builds.artifacts.services import build_succeed, package_of_artifact
from apps.builds.leasing import BUILD, MOST_CLAIMS
from apps.builds.models import Build
from apps.builds.services.claims import build_claim
from apps.builds.services.progress import (
    Progress,
    build_enter,
    build_fail,
    step_finish,
    step_log,
    step_progress,
    step_reuse,
    step_start,
)
from apps.builds.services.requests import build_cancel, build_retry
from apps.leases.lease import Lease, LeaseLost
from apps.leases.services import lease_check, lease_release
from apps.leases.sweeping import leases_sweep
from apps.telemetry.models import LogChunk
from controlplane import clock
from controlplane.domain.failures import Blame, Failure
from controlplane.domain.lifecycle import BuildState
from tests import factories

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]
FAILURE = Failure(code="X", blame=Blame.OURS, sentence="It broke.")


def claim(build: Build, owner: str = "worker") -> Lease:
    lease = build_claim(build_id=build.id, owner=owner)
    assert lease is not None
    return lease


def expire(build: Build) -> None:
    past = clock.now() - timedelta(seconds=1)
    Build.objects.filter(id=build.id).update(lease_expires_at=past)


def lose_worker(build: Build, *, times: int) -> None:
    for _ in range(times):
        claim(build)
        expire(build)


def state_of(build: Build) -> str:
    build.refresh_from_db()
    return build.state


def test_a_lease_tells_its_holder_of_a_cancel() -> None:
    build = factories.make_build()
    lease = claim(build)
    assert not lease_check(lease=lease).is_cancel_requested
    build_cancel(build=build)
    assert lease_check(lease=lease).is_cancel_requested


def test_an_expired_lease_is_taken_with_a_higher_token() -> None:
    build = factories.make_build()
    first = claim(build, "first")
    step_start(lease=first, step="fetch")
    assert build_claim(build_id=build.id, owner="second") is None
    expire(build)
    second = claim(build, "second")
    assert second.token > first.token
    assert build.steps.get(name="fetch").state == "waiting"


def test_every_write_of_a_worker_that_comes_back_is_refused() -> None:
    build = factories.make_build()
    late = claim(build, "late")
    step_start(lease=late, step="fetch")
    expire(build)
    assert leases_sweep(BUILD).requeued == 1
    claim(build, "successor")
    progress = Progress(done=1, total=2, unit="bytes")
    for write in (
        lambda: build_enter(lease=late, state=BuildState.INSPECTING),
        lambda: step_start(lease=late, step="fetch"),
        lambda: step_progress(lease=late, step="fetch", progress=progress),
        lambda: step_finish(lease=late, step="fetch", result={}, progress=None),
        lambda: step_log(lease=late, step="fetch", sequence=0, text="late\n"),
        lambda: build_fail(lease=late, failure=FAILURE),
    ):
        with pytest.raises(LeaseLost):
            write()
    lease_release(lease=late)
    assert state_of(build) == "fetching"
    assert build.steps.get(name="fetch").state == "waiting"
    assert not LogChunk.objects.exists()


def test_a_write_may_be_repeated_after_an_answer_was_lost() -> None:
    build = factories.make_build()
    lease = claim(build)
    for _ in range(2):
        build_enter(lease=lease, state=BuildState.INSPECTING)
    for _ in range(2):
        build_fail(lease=lease, failure=FAILURE)
    assert state_of(build) == "failed"
    assert build.failure["sentence"] == "It broke."


def test_what_a_child_reports_is_stored_without_what_the_database_refuses() -> None:
    build = factories.make_build()
    lease = claim(build)
    reported = {"answer": "a\0b", "loss": float("nan"), "fine": 0.5}
    stored = {"answer": "ab", "loss": None, "fine": 0.5}
    step_finish(lease=lease, step="fetch", result=reported, progress=None)
    step_reuse(lease=lease, step="inspect", result=reported)
    assert build.steps.get(name="fetch").result == stored
    assert build.steps.get(name="inspect").result == stored
    build_fail(lease=lease, failure=replace(FAILURE, sentence="a\0b", detail="\ud800"))
    assert state_of(build) == "failed"
    assert (build.failure["sentence"], build.failure["detail"]) == ("ab", "")


def test_an_artifact_keeps_no_more_of_a_report_than_can_be_stored() -> None:
    build = factories.make_build()
    lease = claim(build)
    Build.objects.filter(id=build.id).update(state=BuildState.TESTING)
    package = {
        "content_digest": "sha256:c",
        "input_digest": "sha256:i",
        "size_bytes": 1,
        "manifest": [{"path": "a\0"}],
        "passport": {"loss": float("nan")},
    }
    artifact = build_succeed(lease=lease, package=package)
    artifact.refresh_from_db()
    assert (artifact.files, artifact.passport) == ([{"path": "a"}], {"loss": None})


def test_an_artifact_of_the_same_inputs_is_held_while_the_build_ends_with_it() -> None:
    artifact = factories.make_artifact()
    build = factories.make_build(
        revision=factories.make_revision(config=factories.make_config(team=artifact.team))
    )
    lease = claim(build)
    Build.objects.filter(id=build.id).update(state=BuildState.TESTING)
    with CaptureQueriesContext(connection) as captured:
        assert build_succeed(lease=lease, package=package_of_artifact(artifact)) == artifact
    read = [each["sql"] for each in captured if 'FROM "builds_artifact"' in each["sql"]]
    assert "FOR NO KEY UPDATE" in read[0], "somebody could delete it before the commit"


def test_a_state_that_does_not_follow_is_a_bug() -> None:
    lease = claim(factories.make_build())
    with pytest.raises(ValueError, match="cannot go from `fetching` to `testing`"):
        build_enter(lease=lease, state=BuildState.TESTING)


def test_a_build_that_is_given_back_can_be_taken_at_once() -> None:
    build = factories.make_build()
    lease_release(lease=claim(build))
    assert state_of(build) == "queued"
    claim(build, "next")


def test_the_sweep_cancels_what_lost_its_worker_and_frees_its_devices() -> None:
    build = factories.make_build()
    lease = claim(build)
    step_start(lease=lease, step="fetch")
    build_cancel(build=build)
    holding = factories.make_lease(holder=f"build:{build.id}")
    assert leases_sweep(BUILD).cancelled == ()
    expire(build)
    assert leases_sweep(BUILD).cancelled == (build.id,)
    assert state_of(build) == "cancelled"
    assert build.steps.get(name="fetch").state == "cancelled"
    holding.refresh_from_db()
    assert holding.released_at is not None


def test_a_build_that_ends_its_worker_each_time_fails_at_that_step_and_frees_its_devices() -> None:
    build = factories.make_build()
    lease = factories.make_lease(holder=f"build:{build.id}")
    lose_worker(build, times=MOST_CLAIMS - 1)
    step_start(lease=claim(build), step="fetch")
    expire(build)
    assert leases_sweep(BUILD).given_up == 1
    assert state_of(build) == "failed"
    assert build.failure["code"] == "EHB-WORKER-LOST"
    assert build.finished_at is not None
    assert build.steps.get(name="fetch").state == "failed"
    lease.refresh_from_db()
    assert lease.released_at is not None


def test_a_retry_of_a_build_that_was_given_up_counts_anew() -> None:
    build = factories.make_build()
    lose_worker(build, times=MOST_CLAIMS)
    leases_sweep(BUILD)
    build_retry(build=build)
    lose_worker(build, times=MOST_CLAIMS - 1)
    assert leases_sweep(BUILD).given_up == 0
    claim(build)


def test_a_cancel_goes_before_a_giving_up() -> None:
    build = factories.make_build()
    lose_worker(build, times=MOST_CLAIMS - 1)
    claim(build)
    build_cancel(build=build)
    expire(build)
    assert leases_sweep(BUILD).given_up == 0
    assert state_of(build) == "cancelled"
