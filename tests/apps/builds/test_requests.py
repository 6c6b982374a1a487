"""What people ask of builds, and what is refused."""

import threading
from pathlib import Path

import pytest
from django.db import connection
from pytest_django import DjangoCaptureOnCommitCallbacks

from apps.accounts.models import AuditEntry
from apps.builds.models import Build
from apps.builds.services.claims import build_claim
from apps.builds.services.requests import build_cancel, build_create, build_promote, build_retry
from apps.configs.models import CheckpointRecord, Revision
from apps.fleet.services.assigning import pool_assign
from apps.rest.errors import Conflict, InvalidInput
from controlplane.celery import build_queue
from controlplane.domain.spec import parse_text
from controlplane.hints import queue_length
from tests import factories
from tests.apps.pages import signed_in
from tests.apps.rest_client import client_of
from tests.factories import Cast
from tests.workers.tasks.building import make_buildable

pytestmark = pytest.mark.django_db


def test_a_new_build_is_queued_with_its_steps_and_sent(
    revision: Revision,
    cast: Cast,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    before = queue_length(build_queue("default"))
    with django_capture_on_commit_callbacks(execute=True):
        build = build_create(revision=revision, user=cast.member)
    assert (build.state, build.number, build.attempt) == ("queued", 1, 1)
    assert list(build.steps.values_list("name", "state")) == [
        ("fetch", "waiting"),
        ("inspect", "waiting"),
        ("package", "waiting"),
        ("smoke_test", "waiting"),
    ]
    assert queue_length(build_queue("default")) == before + 1


def test_a_build_that_quantizes_calibrates_and_gates_before_it_packages(
    tiny_checkpoint: Path, revision: Revision
) -> None:
    quantized = make_buildable(
        tiny_checkpoint, added="    quantization_type: fp8\n", config=revision.config
    )
    build = build_create(revision=quantized, user=None)
    names = ["fetch", "inspect", "calibrate", "gate", "package", "smoke_test"]
    assert list(build.steps.values_list("name", flat=True)) == names


def test_what_waits_for_a_build_is_made_with_it_or_not_at_all(revision: Revision) -> None:
    def refuse(build: Build) -> None:
        raise Conflict("no room for a deployment")

    with pytest.raises(Conflict):
        build_create(revision=revision, user=None, deploy=refuse)
    assert not Build.objects.exists()


def test_a_revision_that_is_blocked_now_is_refused_whatever_it_stored(
    revision: Revision, tiny_checkpoint: Path
) -> None:
    blocked = factories.make_revision(
        config=revision.config,
        text=revision.text.replace("max_batch_size: 4", "tensor_parallel_count: 4"),
        spec=revision.spec,
        blocks_build=False,
    )
    with pytest.raises(Conflict, match=r"^EH") as refused:
        build_create(revision=blocked, user=None)
    assert refused.value.code == "revision_blocked"
    assert refused.value.fields


def test_a_revision_whose_facts_have_not_arrived_is_refused(revision: Revision) -> None:
    CheckpointRecord.objects.update(state="waiting", facts=None, fetched_at=None)
    with pytest.raises(Conflict) as refused:
        build_create(revision=revision, user=None)
    assert refused.value.code == "revision_waiting"


@pytest.mark.django_db(transaction=True)
def test_two_builds_at_once_take_two_numbers(revision: Revision) -> None:
    def create() -> None:
        build_create(revision=revision, user=None)
        connection.close()

    threads = [threading.Thread(target=create) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(Build.objects.values_list("number", flat=True)) == [1, 2, 3, 4]


def test_a_queued_build_is_cancelled_at_once(revision: Revision) -> None:
    build = build_cancel(build=build_create(revision=revision, user=None))
    assert build.state == "cancelled"
    assert build.finished_at is not None
    assert build_claim(build_id=build.id, owner="late") is None
    assert build_cancel(build=build).state == "cancelled"


def test_a_running_build_is_only_asked_to_stop(revision: Revision) -> None:
    build = build_create(revision=revision, user=None)
    assert build_claim(build_id=build.id, owner="worker") is not None
    build = build_cancel(build=build)
    assert build.state == "fetching"
    request = build.cancel_requested_at
    assert request is not None
    assert build_cancel(build=build).cancel_requested_at == request
    assert AuditEntry.objects.filter(action="build.cancel").count() == 1


def test_a_build_that_ended_is_neither_cancelled_nor_tried_again(revision: Revision) -> None:
    build = factories.make_finished_build(revision=revision)
    with pytest.raises(Conflict, match=f"Build {build.number} has succeeded"):
        build_cancel(build=build)
    with pytest.raises(Conflict, match="only a failed or cancelled build"):
        build_retry(build=build)


def test_a_retry_is_the_next_attempt_and_remembers_what_was_finished(revision: Revision) -> None:
    build = factories.make_build(revision=revision, state="failed", failure={"code": "X"})
    build.steps.filter(name="fetch").update(state="finished", result={"commit": "c"})
    build.steps.filter(name="inspect").update(state="failed", result={"half": 1})
    build = build_retry(build=build)
    assert (build.state, build.attempt, build.failure) == ("queued", 2, None)
    assert build.steps.get(name="fetch").result == {"commit": "c"}
    assert build.steps.get(name="inspect").result is None
    assert set(build.steps.values_list("state", flat=True)) == {"waiting"}


def test_a_build_that_the_gate_stopped_goes_on_with_a_reason_that_is_kept(
    revision: Revision, cast: Cast
) -> None:
    build = factories.make_build(revision=revision, state="failed", failure={"code": "EHG"})
    with pytest.raises(Conflict, match="did not fail at its quality gate"):
        build_promote(build=build, user=cast.member, reason="Good enough.")
    gate = {"state": "failed", "failure": {"sentence": "Perplexity rose by 9 %."}}
    build.steps.create(name="gate", position=9, state="failed", result=gate)
    with pytest.raises(InvalidInput, match="Say why"):
        build_promote(build=build, user=cast.member, reason=" ")
    build = build_promote(build=build, user=cast.member, reason=" Good enough. ")
    assert (build.state, build.attempt) == ("queued", 2)
    assert AuditEntry.objects.get(action="build.promote").after == {
        "accepted": "Perplexity rose by 9 %.",
        "reason": "Good enough.",
    }
    assert build.promotion["accepted"] == "Perplexity rose by 9 %."
    assert (build.promotion["by"], build.promotion["reason"]) == (
        cast.member.email,
        "Good enough.",
    )


def test_a_build_in_a_pool_of_other_teams_is_refused_and_what_would_help_is_said(
    revision: Revision, cast: Cast
) -> None:
    pool_assign(pool="default", teams=[cast.outsider.team])
    with pytest.raises(Conflict) as refused:
        build_create(revision=revision, user=cast.member)
    assert refused.value.code == "pool_not_assigned"
    assert refused.value.fields == ("enginehouse.pool",)
    assert str(refused.value) == "The GPUs of pool `default` are assigned to other teams."
    assert "outside" not in str(vars(refused.value))
    assert not Build.objects.exists()
    pool_assign(pool="default", teams=[cast.team, cast.outsider.team])
    assert build_create(revision=revision, user=cast.member).pool == "default"


def test_a_retry_in_a_pool_that_went_to_others_is_refused_on_the_page_and_over_rest(
    revision: Revision, cast: Cast
) -> None:
    build = factories.make_build(revision=revision, state="cancelled")
    pool_assign(pool="default", teams=[cast.outsider.team])
    text = "The GPUs of pool `default` are assigned to other teams."
    status, answer = client_of(cast.owner).post(f"/v1/builds/{build.id}/retry")
    assert (status, answer["code"], answer["message"]) == (409, "pool_not_assigned", text)
    address = f"/builds/{build.number}/"
    page = signed_in(cast.owner).post(
        f"{address}retry/", headers={"Referer": f"http://testserver{address}"}, follow=True
    )
    assert "The GPUs of pool" in page.content.decode()
    assert "are assigned to other teams" in page.content.decode()
    build.refresh_from_db()
    assert (build.state, build.attempt) == ("cancelled", 1)


def test_a_build_keeps_the_runtime_that_auto_meant_when_it_was_made(
    revision: Revision,
) -> None:
    node = factories.make_node(runtimes=["native", "vllm"])
    factories.make_device(node=node, kind="H100", memory_bytes=80 * factories.GIB)
    text = revision.text.replace("resources:\n", "resources:\n  accelerator: H100\n")
    spec = parse_text(text).spec
    assert spec is not None
    on_a_device = factories.make_revision(
        config=revision.config, text=text, spec=spec.model_dump(mode="json")
    )
    build = build_create(revision=on_a_device, user=None)
    node.runtimes = ["native"]
    node.save()
    build.refresh_from_db()
    assert build.runtime == build.spec["enginehouse"]["runtime"] == "vllm"
    assert build.revision.spec["enginehouse"] is None
    assert build_create(revision=on_a_device, user=None).runtime == "native"


def test_a_build_for_a_cpu_has_its_revisions_own_spec(revision: Revision) -> None:
    build = build_create(revision=revision, user=None)
    assert (build.runtime, build.spec) == ("native", build.revision.spec)
