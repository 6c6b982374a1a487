"""A step that holds a model waits for its GPUs in sight of all, and runs on those alone."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from pytest_django import Settings

from apps.builds.models import Build
from apps.builds.services.claims import build_claim
from apps.builds.services.devices import DeviceNeed
from apps.builds.services.requests import build_cancel
from apps.fleet.models import Device, DeviceLease, Node
from apps.fleet.selectors import SILENT_SECONDS
from apps.fleet.services.devices import devices_release
from apps.telemetry.logs import log_lines
from controlplane import clock
from controlplane.domain.device_users import DeviceUser
from controlplane.domain.failures import Blame, Failure
from controlplane.domain.spec import Spec, parse_text
from controlplane.domain.spec.edit import edit_yaml
from controlplane.sources import folder_facts
from tests import factories
from tests.factories_serving import listened
from tests.manual_clock import ManualClock
from tests.waiting import DEADLINE_SECONDS
from tests.workers.tasks.building import FP8, MakeBuild, make_quantized
from tests.workers.tasks.hands import wait_for_build
from workers.agent import nvidia
from workers.agent.failures import device_memory_held, device_taken
from workers.build_steps.child import OutcomeKind, StepCommand, StepOutcome, run_step
from workers.tasks.build import build_run
from workers.tasks.building import devices
from workers.tasks.building.devices import StepDevices
from workers.tasks.building.needs import step_need
from workers.tasks.building.report import StepReport
from workers.tasks.building.stopped import StepFailed
from workers.tasks.leasing import LeaseKeeper

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.process]
REPLICA = "replica:abcde"


@pytest.fixture
def node(settings: Settings) -> Node:
    """The node of this host, which counts as live for long, with a CPU."""
    later = clock.now() + timedelta(hours=1)
    made = factories.make_node(name=settings.NODE_NAME, last_heartbeat_at=later)
    factories.make_device(node=made)
    return made


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[StepCommand]:
    """The steps that were started; one that holds a model ends without loading any."""
    seen: list[StepCommand] = []

    def watched(command: StepCommand, **callbacks: Any) -> StepOutcome:
        seen.append(command)
        if command.step not in ("calibrate", "smoke_test"):
            return run_step(command, **callbacks)
        failure = Failure(code="EHX-ENOUGH", blame=Blame.OURS, sentence="Enough was seen.")
        return StepOutcome(kind=OutcomeKind.FAILED, failure=failure, exit_code=1)

    monkeypatch.setattr("workers.tasks.building.run.run_step", watched)
    return seen


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Builds that wait for nobody but other builds."""
    monkeypatch.setattr(devices, "_PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(devices, "_PAUSE_SECONDS", 0.01)


def full(node: Node, holder: str) -> Device:
    device = node.devices.get(kind="CPU")
    factories.make_lease(device=device, holder=holder, memory_bytes=device.memory_bytes)
    return device


def run(build: Build) -> Build:
    build_run(build_id=build.id, format=1)
    build.refresh_from_db()
    return build


@contextmanager
def running(build: Build) -> Iterator[threading.Thread]:
    """A worker's thread that carries the build out."""

    def work() -> None:
        try:
            build_run(build_id=build.id, format=1)
        finally:
            connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield thread
    finally:
        thread.join(DEADLINE_SECONDS)
    assert not thread.is_alive()


def waits_for(build: Build, step: str) -> str:
    reason: str = build.steps.get(name=step).waits_for
    return reason


def said(build: Build, step: str) -> str:
    return "\n".join(line.message for line in log_lines(owners=[f"build:{build.id}:{step}"]))


def claims(build: Build) -> int:
    return DeviceLease.objects.filter(holder=f"build:{build.id}", released_at=None).count()


def test_calibration_and_gate_see_the_builders_gpus_alone_and_later_steps_give_them_back(
    make_build: MakeBuild, checkpoint: Path, node: Node
) -> None:
    gpus = [factories.make_device(node=node, kind="H100", memory_bytes=80 << 30) for _ in range(4)]
    factories.make_lease(device=gpus[0], holder=REPLICA, memory_bytes=80 << 30)
    spec, facts = on_gpus(checkpoint), folder_facts(checkpoint, commit="", name="tiny")
    build = make_build()
    lease = build_claim(build_id=build.id, owner="worker")
    assert lease is not None
    with LeaseKeeper(lease, stopping=threading.Event()) as keeper:
        for step in ("calibrate", "gate"):
            step_devices = StepDevices(keeper, StepReport(keeper, step=step, attempt=1), step=step)
            claim = step_devices.claim(
                spec,
                lambda smallest, name=step: step_need(
                    name, spec, facts.model_dump(), smallest_device_bytes=smallest
                ),
            )
            assert (claim.kind, claim.device, claim.memory_bytes) == ("H100", "cuda", 80 << 30)
            uuids = f"{gpus[1].uuid},{gpus[2].uuid}"
            assert claim.environment == {"CUDA_VISIBLE_DEVICES": uuids}
            assert claims(build) == 2
        step_devices.release()
    assert not claims(build)


def test_a_device_is_asked_who_is_on_it_when_it_is_claimed_and_waited_for(
    make_build: MakeBuild, checkpoint: Path, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    stranger = DeviceUser(pid=12, name="python3", user="root", held_bytes=8 << 30)
    for _ in range(2):
        factories.make_device(node=node, kind="H100", memory_bytes=80 << 30)
    seen = [device_taken("GPU-1", [stranger]), device_memory_held("GPU-1", 70 << 30), None]
    monkeypatch.setattr(devices, "_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(nvidia, "is_there", lambda: True)
    monkeypatch.setattr(devices, "what_holds", lambda uuids: seen.pop(0))
    build = make_build()
    lease = build_claim(build_id=build.id, owner="worker")
    assert lease is not None
    with LeaseKeeper(lease, stopping=threading.Event()) as keeper:
        report = StepReport(keeper, step="calibrate", attempt=1)
        need = DeviceNeed(kind="H100", count=2, memory_bytes=80 << 30)
        claim = StepDevices(keeper, report, step="calibrate").claim(
            on_gpus(checkpoint), lambda _: need
        )
        report.close()
    assert len(claim.uuids) == 2
    log = said(build, "calibrate")
    assert "in use by `python3` (process 12 of `root`, 8.0 GiB), which Enginehouse did not" in log
    assert "70.0 GiB of GPU `GPU-1` are held, and this host shows no process" in log
    assert "got room" in log


def test_a_stranger_that_stays_on_the_device_is_the_cause_in_the_end(
    make_build: MakeBuild, checkpoint: Path, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    stranger = {"pid": 12, "name": "python3", "user": "root", "held_bytes": 8 << 30}
    for _ in range(2):
        factories.make_device(node=node, kind="H100", memory_bytes=80 << 30, is_clean=False,
                            used_by=[stranger])  # fmt: skip
    monkeypatch.setattr(devices, "_PATIENCE_SECONDS", 0.0)
    lease = build_claim(build_id=make_build().id, owner="worker")
    assert lease is not None
    with LeaseKeeper(lease, stopping=threading.Event()) as keeper:
        step = StepDevices(
            keeper, StepReport(keeper, step="calibrate", attempt=1), step="calibrate"
        )
        need = DeviceNeed(kind="H100", count=2, memory_bytes=80 << 30)
        with pytest.raises(StepFailed) as failed:
            step.claim(on_gpus(checkpoint), lambda _: need)
    assert failed.value.failure.code == "EHB-CARD-IN-USE"
    assert "GPU 1 is in use by `python3` (process 12 of `root`" in failed.value.failure.sentence


def on_gpus(checkpoint: Path) -> Spec:
    """What is served on one H100 and quantized on two."""
    text = edit_yaml(
        factories.config_text(str(checkpoint)) + FP8,
        {"resources.accelerator": "H100", "trt_llm.build.num_builder_gpus": 2},
    )
    spec = parse_text(text).spec
    assert spec is not None
    return spec


def test_without_room_a_build_says_who_has_it_and_can_be_cancelled(
    make_build: MakeBuild, checkpoint: Path, node: Node, commands: list[StepCommand]
) -> None:
    full(node, REPLICA)

    build = make_quantized(make_build, checkpoint)
    with running(build):
        wait_for_build(build, lambda each: REPLICA in waits_for(each, "calibrate"))
        assert not claims(build)
        build_cancel(build=Build.objects.get(id=build.id))
        wait_for_build(build, lambda each: each.state == "cancelled")
    assert f"Held by `{REPLICA}` (16.0 GiB)" in said(build, "calibrate")
    assert "calibrate" not in {each.step for each in commands}


def test_other_builds_are_waited_for_as_long_as_they_run(
    make_build: MakeBuild, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = full(node, "build:abcdefgh")
    clock = ManualClock(sleeping_moves_it=True)
    monkeypatch.setattr(devices, "_PAUSE_SECONDS", 2 * devices._PATIENCE_SECONDS)
    requests: list[None] = []

    def ask(*told: Any) -> Any:
        requests.append(None)
        if len(requests) == 4:
            devices_release(holder="build:abcdefgh")
        return claim(*told)

    claim = devices._claimed
    monkeypatch.setattr(devices, "_claimed", ask)
    build = make_build()
    lease = build_claim(build_id=build.id, owner="worker")
    assert lease is not None
    with LeaseKeeper(lease) as keeper:
        report = StepReport(keeper, step="calibrate", attempt=1)
        step = StepDevices(keeper, report, step="calibrate", clock=clock)
        need = DeviceNeed(kind="CPU", count=1, memory_bytes=device.memory_bytes)
        holding = step.claim(Spec.model_validate(build.revision.spec), lambda _: need)
        report.close()
    assert holding.environment == {"CUDA_VISIBLE_DEVICES": ""}
    assert clock.slept == 3 * [2 * devices._PATIENCE_SECONDS]
    assert "got room" in said(build, "calibrate")


@pytest.mark.usefixtures("impatient")
def test_a_replica_that_stays_is_the_cause_in_the_end(make_build: MakeBuild, node: Node) -> None:
    full(node, REPLICA)
    build = run(make_build())
    assert (build.state, build.failure["code"]) == ("failed", "EHB-NO-ROOM")
    assert REPLICA in build.failure["sentence"]
    assert "waiting for room" in said(build, "smoke_test")


def test_memory_that_this_host_never_has_is_refused_at_once(
    make_build: MakeBuild, checkpoint: Path, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    huge = DeviceNeed(kind="CPU", count=1, memory_bytes=17 << 30)
    monkeypatch.setattr("workers.tasks.building.run.step_need", lambda *_, **_named: huge)
    build = run(make_quantized(make_build, checkpoint))
    assert (build.state, build.failure["code"]) == ("failed", "EHB-NO-CARDS"), build.failure
    assert f"Node `{node.name}` has 0 of 1 `CPU` GPUs with 17.0 GiB" in build.failure["sentence"]


def test_where_this_hosts_node_is_silent_the_build_waits_until_it_speaks(
    make_build: MakeBuild,
    node: Node,
    commands: list[StepCommand],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Node.objects.update(last_heartbeat_at=None)

    def heard_too_late() -> Any:
        assert not DeviceLease.objects.exists()
        Node.objects.filter(id=node.id).update(last_heartbeat_at=clock.now())
        return silent()

    silent = devices._silent
    monkeypatch.setattr(devices, "_silent", heard_too_late)
    build = run(make_build())
    assert build.failure["code"] == "EHX-ENOUGH", build.failure
    assert DeviceLease.objects.filter(holder=f"build:{build.id}").exists()
    log = said(build, "smoke_test")
    assert f"waiting for room: Node `{node.name}` has not spoken" in log
    assert "without a lease" not in log


@pytest.mark.usefixtures("impatient")
def test_a_node_that_stays_silent_is_the_cause(make_build: MakeBuild, node: Node) -> None:
    long_ago = clock.now() - timedelta(seconds=SILENT_SECONDS + 1)
    Node.objects.update(last_heartbeat_at=long_ago)
    listened()
    build = run(make_build())
    assert (build.state, build.failure["code"]) == ("failed", "EHB-NODE-SILENT")
    assert build.failure["blame"] == "machine"
