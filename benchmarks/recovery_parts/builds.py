"""What happens to a build when something dies: found out by killing it, step by step."""

import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import psutil
from django.db import connections

from apps.accounts.models import Team
from apps.builds.models import Artifact, Build, BuildStep
from apps.builds.services.requests import build_cancel, build_create, build_retry
from apps.configs.models import Revision
from apps.configs.services.configs import config_create
from apps.configs.services.examination import revision_examine
from apps.fleet.models import Device, DeviceLease
from benchmarks.recovery_parts.stage import STEPS, Stage, is_alive, process_named, wait_for
from tests import factories
from tests.tiny_checkpoint import make_tiny_checkpoint
from workers.build_steps.processes import (
    INSTANCE_VARIABLE,
    LEASE_VARIABLE,
    environment,
    processes,
)

_AWAY_SECONDS = 30.0
_SWEPT_SECONDS = 14.0
"""After which a sweep would have taken it: a whole lease of listening, and a round."""
_ELSEWHERE = "elsewhere/0/1/1"
_SERVERS = {
    "broker": ("valkey", "fetch"),
    "database": ("postgres -D", "inspect"),
    "scheduler": (" beat ", "package"),
    "control_worker": ("-Q control", "smoke_test"),
}
_FP8 = """    quantization_type: fp8
    quantization_config:
      calib_dataset: enginehouse/general
      calib_size: 64
      calib_max_seq_length: 64
"""


def make_revision(folder: Path, *, quantizes: bool) -> Revision:
    """A revision of a tiny checkpoint that may be built, in FP8 or as it is."""
    checkpoint = make_tiny_checkpoint(folder / "checkpoints" / "tiny")
    team, _ = Team.objects.get_or_create(is_default=True, defaults={"name": "Default"})
    text = factories.config_text(str(checkpoint)) + (_FP8 if quantizes else "")
    config = config_create(team=team, name="tiny-fp8" if quantizes else "tiny", text=text)
    revision: Revision = config.revisions.get()
    wait_for(
        lambda: not revision_examine(revision=revision).blocks_build, what="what is known of it"
    )
    return revision


def start_build(folder: Path, revision: Revision) -> Build:
    """A new build of the revision that does every step: earlier artifacts are forgotten."""
    shutil.rmtree(folder / "artifacts", ignore_errors=True)
    Build.objects.update(artifact=None)
    Artifact.objects.all().delete()
    return build_create(revision=revision, user=None)


def kill_workers(stage: Stage, _build: Build) -> dict[str, float]:
    """Seconds until another worker is at the step again, for a worker killed in each step."""
    return {f"worker_killed_in_{step}_seconds": _kill_worker(stage, step) for step in STEPS}


def cancel_and_kill_children(stage: Stage, build: Build) -> dict[str, float]:
    """Seconds until a cancelled build has ended, and until one whose child died names the cause."""
    figures = {}
    for step in STEPS:
        figures |= _cancel(stage, build, step)
        figures[f"child_killed_in_{step}_seconds"] = _kill_child(stage, build, step)
    return figures


def kill_both(stage: Stage, _build: Build) -> dict[str, float]:
    """Seconds until another worker is at the step again, for worker and child killed at once."""
    return {
        f"worker_and_child_killed_in_{step}_seconds": _kill_both(stage, step)
        for step in ("inspect", "package", "smoke_test")
    }


def kill_unseen(stage: Stage, build: Build) -> dict[str, float]:
    """The same for a worker whose host is gone with it: only its lease running out tells of it."""
    child = stage.reach("fetch")
    worker = _worker_of(child)
    Build.objects.filter(id=build.id).update(lease_owner=_ELSEWHERE)
    killed_at = _signalled(worker, signal.SIGKILL)
    stage.reach("fetch", but=child)
    return {"host_of_worker_lost_in_fetch_seconds": time.monotonic() - killed_at}


def stop_workers(stage: Stage, _build: Build) -> dict[str, float]:
    """Seconds until the other worker is at the step, of one that stands still, and of one told."""
    with stage.another_worker():
        frozen = _stop(stage, "fetch", signal.SIGSTOP)
        figures = _stop(stage, "inspect", signal.SIGTERM)
    return {
        "worker_stands_still_in_fetch_seconds": frozen,
        "given_back_in_inspect_seconds": figures,
    }


def restart_broker(stage: Stage, build: Build) -> dict[str, float]:
    """Seconds until a build that was queued just before has begun, beside one that is held."""
    reach = stage.reach("fetch")
    token = fresh(build).lease_token
    with stage.another_worker():
        queued = build_create(revision=build.revision, user=None)
        killed_at = _signalled(process_named(stage.up, "valkey"), signal.SIGKILL)
        stage.reach("fetch", but=reach)
        seconds = time.monotonic() - killed_at
        build_cancel(build=fresh(queued))
        end_of(queued)
    if fresh(build).lease_token != token:
        raise SystemExit("The broker's restart cost the running build its lease.")
    return {"queued_build_begun_after_broker_restart_seconds": seconds}


def cancel_in_the_queue_for_devices(stage: Stage, build: Build) -> dict[str, float]:
    """Seconds until a cancelled build has ended that waited for room on its GPU."""
    stage.reach("fetch")
    device = Device.objects.get(kind="CPU")
    taken = factories.make_lease(
        device=device, holder="replica:benchmrk", memory_bytes=device.memory_bytes
    )
    with stage.open_gates():
        wait_for(lambda: _step(build, "calibrate").waits_for, what="a build without room")
        asked_at = time.monotonic()
        build_cancel(build=fresh(build))
        wait_for(lambda: fresh(build).state == "cancelled", what="the end of the build")
        seconds = time.monotonic() - asked_at
    taken.delete()
    build_retry(build=fresh(build))
    return {"cancelled_waiting_for_devices_seconds": seconds}


def database_away(stage: Stage, build: Build) -> dict[str, float]:
    """Seconds until the end of a step is stored that went on after half a minute without it."""
    gone = {"stopped": _postgres_stopped, "gone": _postgres_gone}
    return {
        f"database_{name}_for_{_AWAY_SECONDS:.0f}_s_in_{step}_seconds": _outlive(
            stage, build, step, away
        )
        for (name, away), step in zip(gone.items(), ("fetch", "inspect"), strict=True)
    }


def kill_servers(stage: Stage, build: Build) -> dict[str, float]:
    """Seconds until a step's end is stored, for a server killed in the middle of one."""
    return {
        f"{name}_killed_in_{step}_seconds": _kill_server(stage, mark, build, step)
        for name, (mark, step) in _SERVERS.items()
    }


def fresh(build: Build) -> Build:
    """The build as its row is now."""
    return Build.objects.get(id=build.id)


def end_of(build: Build) -> Build:
    """The build once it has ended."""
    wait_for(lambda: fresh(build).finished_at, what="the end of the build")
    return fresh(build)


def orphans(folder: Path) -> int:
    """Count processes of steps that run under no live lease."""
    exclude = Build.objects.exclude(lease_expires_at=None)
    live = {f"build/{each.id}/{each.lease_token}" for each in exclude}
    return sum(lease not in live for lease in _leases_of_processes(folder))


def drafts(folder: Path) -> int:
    """Count half-made outputs that were left."""
    return len(list((folder / "builds").glob("*/.*")))


def devices_held(build: Build) -> int:
    """Count the claims on GPUs and memory that an ended build still has."""
    return DeviceLease.objects.filter(holder=f"build:{build.id}", released_at=None).count()


def _kill_worker(stage: Stage, step: str) -> float:
    child = stage.reach(step)
    worker = _worker_of(child)
    if step == "calibrate":
        stage.reach_samples(child)
    killed_at = _signalled(worker, signal.SIGKILL)
    stage.reach(step, but=child)
    seconds = time.monotonic() - killed_at
    _ends(child)
    return seconds


def _kill_both(stage: Stage, step: str) -> float:
    child = stage.reach(step)
    killed_at = _signalled(_worker_of(child), signal.SIGKILL)
    if is_alive(child):
        _signalled(psutil.Process(child), signal.SIGKILL)
    stage.reach(step, but=child)
    return time.monotonic() - killed_at


def _stop(stage: Stage, step: str, number: signal.Signals) -> float:
    child = stage.reach(step)
    worker = _worker_of(child)
    stopped_at = _signalled(worker, number)
    stage.reach(step, but=child)
    seconds = time.monotonic() - stopped_at
    if number is signal.SIGSTOP:
        # It finds that its lease is lost, and ends its child.
        worker.send_signal(signal.SIGCONT)
    _ends(child)
    return seconds


def _kill_child(stage: Stage, build: Build, step: str) -> float:
    child = stage.reach(step)
    killed_at = _signalled(psutil.Process(child), signal.SIGKILL)
    wait_for(lambda: fresh(build).state == "failed", what="the cause")
    seconds = time.monotonic() - killed_at
    if (code := fresh(build).failure["code"]) != "EHB-KILLED":
        raise SystemExit(f"The child was killed, and the build says {code}.")
    build_retry(build=fresh(build))
    return seconds


def _cancel(stage: Stage, build: Build, step: str) -> dict[str, float]:
    child = stage.reach(step)
    if step == "calibrate":
        stage.reach_samples(child)
    asked_at = time.monotonic()
    build_cancel(build=fresh(build))
    _ends(child)
    seen = time.monotonic() - asked_at
    wait_for(lambda: fresh(build).state == "cancelled", what="the end of the build")
    seconds = time.monotonic() - asked_at
    build_retry(build=fresh(build))
    return {f"cancelled_in_{step}_seconds": seconds, f"cancel_seen_in_{step}_seconds": seen}


def _outlive(
    stage: Stage, build: Build, step: str, away: Callable[[Stage], AbstractContextManager[None]]
) -> float:
    child = stage.reach(step)
    token = fresh(build).lease_token
    connections.close_all()
    with away(stage):
        time.sleep(_AWAY_SECONDS)

    time.sleep(_SWEPT_SECONDS)
    seconds = _stored_after_seconds(stage, build, step, child)
    if fresh(build).lease_token != token:
        raise SystemExit(f"A database that was away cost the build its lease in {step}.")
    return seconds


def _stored_after_seconds(stage: Stage, build: Build, step: str, child: int) -> float:
    """Return how long after the end of its process a step counts as done.

    What the step itself takes, the start of an engine among it, is no recovery.
    """
    stage.let_pass(step, child)
    _ends(child)
    ended_at = time.monotonic()
    wait_for(lambda: _step(build, step).state == "finished", what=f"the end of {step}")
    return time.monotonic() - ended_at


@contextmanager
def _postgres_stopped(stage: Stage) -> Iterator[None]:
    """Every process of it stands still: connections hang."""
    postmaster = process_named(stage.up, _SERVERS["database"][0])
    family = [postmaster, *postmaster.children(recursive=True)]
    for each in family:
        each.suspend()
    try:
        yield
    finally:
        for each in family:
            each.resume()


@contextmanager
def _postgres_gone(stage: Stage) -> Iterator[None]:
    """It is killed, and whoever would start it anew stands still: connections are refused."""
    postmaster = process_named(stage.up, _SERVERS["database"][0])
    stage.up.suspend()
    try:
        for each in [*postmaster.children(recursive=True), postmaster]:
            with suppress(psutil.NoSuchProcess):
                each.kill()
        yield
    finally:
        stage.up.resume()


def _kill_server(stage: Stage, mark: str, build: Build, step: str) -> float:
    child = stage.reach(step)
    _signalled(process_named(stage.up, mark), signal.SIGKILL)
    return _stored_after_seconds(stage, build, step, child)


def _worker_of(child: int) -> psutil.Process:
    parent = psutil.Process(child).parent()
    if parent is None:
        raise SystemExit("A step has no worker.")
    return parent


def _ends(child: int) -> None:
    wait_for(lambda: not is_alive(child), what="the end of the step's process")


def _leases_of_processes(folder: Path) -> list[str]:
    entries = []
    for each in processes():
        marks = environment(each.pid)
        is_ours = marks.get(INSTANCE_VARIABLE) == str(folder)
        if LEASE_VARIABLE in marks and is_ours and not each.ended:
            entries.append(marks[LEASE_VARIABLE])
    return entries


def _signalled(process: psutil.Process, number: signal.Signals) -> float:
    process.send_signal(number)
    return time.monotonic()


def _step(build: Build, step: str) -> BuildStep:
    return build.steps.get(name=step)
