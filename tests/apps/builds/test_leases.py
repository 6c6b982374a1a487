"""One holder at a time, and the writes of an earlier one are refused."""

import threading
from dataclasses import replace
from datetime import timedelta

import pytest
from django.db import connection

from apps.builds.models import Build
from apps.builds.services import (
    Lease,
    LeaseLost,
    Progress,
    build_cancel,
    build_claim,
    build_enter,
    build_fail,
    build_release,
    build_succeed,
    builds_expire_leases,
    builds_sweep,
    lease_check,
    lease_is_dead,
    lease_owners,
    lease_renew,
    step_finish,
    step_log,
    step_progress,
    step_reuse,
    step_start,
)
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


def state_of(build: Build) -> str:
    build.refresh_from_db()
    return build.state


@pytest.mark.django_db(transaction=True)
def test_of_many_workers_one_gets_the_build() -> None:
    build = factories.make_build()
    won: list[Lease | None] = []

    def try_to_claim(name: str) -> None:
        won.append(build_claim(build_id=build.id, owner=name))
        connection.close()

    threads = [threading.Thread(target=try_to_claim, args=(f"w{n}",)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len([lease for lease in won if lease]) == 1
    assert state_of(build) == "fetching"


def test_the_secret_of_a_lease_is_kept_as_a_hash_and_not_shown() -> None:
    build = factories.make_build()
    lease = claim(build)
    build.refresh_from_db()
    assert lease.secret not in (build.lease_secret_sha256, repr(lease))
    assert len(build.lease_secret_sha256) == 64


def test_a_renewed_lease_holds_and_tells_of_a_cancel() -> None:
    build = factories.make_build()
    lease = claim(build)
    assert not lease_renew(lease=lease, connection=connection).is_cancel_requested
    build_cancel(build=build)
    assert lease_check(lease=lease, connection=connection).is_cancel_requested


def test_a_lease_that_ran_out_is_not_renewed() -> None:
    build = factories.make_build()
    lease = claim(build)
    expire(build)
    with pytest.raises(LeaseLost):
        lease_renew(lease=lease, connection=connection)


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
    assert builds_sweep().requeued == 1
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
    build_release(lease=late)
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


def test_a_state_that_does_not_follow_is_a_bug() -> None:
    lease = claim(factories.make_build())
    with pytest.raises(ValueError, match="cannot go from `fetching` to `testing`"):
        build_enter(lease=lease, state=BuildState.TESTING)


def test_a_build_that_is_given_back_can_be_taken_at_once() -> None:
    build = factories.make_build()
    build_release(lease=claim(build))
    assert state_of(build) == "queued"
    claim(build, "next")


def test_leases_of_dead_owners_end_early() -> None:
    dead, alive = factories.make_build(), factories.make_build()
    claim(dead, "dead")
    claim(alive, "alive")
    assert sorted(lease_owners()) == ["alive", "dead"]
    assert builds_expire_leases(owners=["dead"]) == 1
    assert builds_sweep().requeued == 1
    assert (state_of(dead), state_of(alive)) == ("queued", "fetching")


def test_a_marker_is_dead_once_its_token_is_not_that_of_a_live_lease() -> None:
    build = factories.make_build()
    lease = claim(build)
    assert not lease_is_dead(lease.marker)
    expire(build)
    assert lease_is_dead(lease.marker)
    assert not lease_is_dead("build/unknown1/1")
    assert not lease_is_dead("replica/abcde/1")


def test_the_sweep_cancels_what_lost_its_worker_and_frees_its_cards() -> None:
    build = factories.make_build()
    lease = claim(build)
    step_start(lease=lease, step="fetch")
    build_cancel(build=build)
    held = factories.make_lease(holder=f"build:{build.id}")
    assert builds_sweep().cancelled == ()
    expire(build)
    assert builds_sweep().cancelled == (build.id,)
    assert state_of(build) == "cancelled"
    assert build.steps.get(name="fetch").state == "cancelled"
    held.refresh_from_db()
    assert held.released_at is not None
