"""What happens to a build when something dies: found out by killing it, step by step."""

import shutil
import time
from pathlib import Path

import psutil

from apps.accounts.models import Team
from apps.builds.models import Artifact, Build, BuildStep
from apps.builds.services import build_cancel, build_create, build_retry
from apps.configs.models import Revision
from apps.configs.services import config_create, revision_examine
from apps.fleet.models import CardLease
from benchmarks.recovery_parts.stage import STEPS, process_named, wait_for
from tests import factories
from tests.tiny_checkpoint import make_tiny_checkpoint
from workers.build_steps.processes import (
    INSTANCE_VARIABLE,
    LEASE_VARIABLE,
    environment,
    process,
    processes,
)

_PATIENCE_SECONDS = 60.0
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
    wait_for(lambda: not revision_examine(revision=revision).blocks_build, _PATIENCE_SECONDS)
    return revision


def start_build(folder: Path, revision: Revision) -> Build:
    """A new build of the revision that does every step: earlier artifacts are forgotten."""
    shutil.rmtree(folder / "artifacts", ignore_errors=True)
    Build.objects.update(artifact=None)
    Artifact.objects.all().delete()
    return build_create(revision=revision, user=None)


def kill_workers(_up: psutil.Process, build: Build) -> dict[str, float]:
    """Seconds until another worker is at the step again, for a worker killed in each step."""
    return {f"worker_killed_in_{step}_seconds": _kill_worker(build, step) for step in STEPS}


def cancel_and_kill_children(_up: psutil.Process, build: Build) -> dict[str, float]:
    """Seconds until a cancelled build has ended, and until one whose child died names the cause."""
    figures = {}
    for step in STEPS:
        figures[f"cancelled_in_{step}_seconds"] = _cancel(build, step)
        figures[f"child_killed_in_{step}_seconds"] = _kill_child(build, step)
    return figures


def kill_both(_up: psutil.Process, build: Build) -> dict[str, float]:
    """Seconds until another worker is at the step again, for worker and child killed at once."""
    steps = ("inspect", "package", "smoke_test")
    return {f"worker_and_child_killed_in_{step}_seconds": _kill_both(build, step) for step in steps}


def kill_unseen(_up: psutil.Process, build: Build) -> dict[str, float]:
    """The same for a worker whose host is gone with it: only its lease running out tells of it."""
    child = _child_at_work(build, "fetch")
    worker = int(fresh(build).lease_owner.split("/")[2])
    Build.objects.filter(id=build.id).update(lease_owner=_ELSEWHERE)
    killed_at = _kill(worker)
    wait_for(lambda: process(child) is None, _PATIENCE_SECONDS)
    wait_for(lambda: fresh(build).lease_owner not in ("", _ELSEWHERE), _PATIENCE_SECONDS)
    wait_for(lambda: _step(build, "fetch").state == "running", _PATIENCE_SECONDS)
    return {"host_of_worker_lost_in_fetch_seconds": time.monotonic() - killed_at}


def kill_servers(up: psutil.Process, build: Build) -> dict[str, float]:
    """Seconds until the build is a step further, for a server killed in the middle of one."""
    return {
        f"{name}_killed_in_{step}_seconds": _kill_server(up, mark, build, step)
        for name, (mark, step) in _SERVERS.items()
    }


def fresh(build: Build) -> Build:
    """The build as its row is now."""
    return Build.objects.get(id=build.id)


def end_of(build: Build) -> Build:
    """The build once it has ended."""
    wait_for(lambda: fresh(build).finished_at, _PATIENCE_SECONDS)
    return fresh(build)


def orphans(folder: Path) -> int:
    """Count processes of steps that run under no live lease."""
    live = {f"build/{each.id}/{each.lease_token}" for each in Build.objects.exclude(lease_owner="")}
    return sum(lease not in live for _, lease in _marked(folder))


def drafts(folder: Path) -> int:
    """Count half-made outputs that were left."""
    return len(list((folder / "builds").glob("*/.*")))


def cards_held(build: Build) -> int:
    """Count the claims on cards and memory that an ended build still has."""
    return CardLease.objects.filter(holder=f"build:{build.id}", released_at=None).count()


def _kill_worker(build: Build, step: str) -> float:
    child = _child_at_work(build, step)
    if step == "calibrate":
        _amid_samples(build)
    owner = fresh(build).lease_owner
    killed_at = _kill(int(owner.split("/")[2]))
    wait_for(lambda: process(child) is None, _PATIENCE_SECONDS)
    return _seconds_until_another(build, step, owner, killed_at)


def _kill_both(build: Build, step: str) -> float:
    child = _child_at_work(build, step)
    owner = fresh(build).lease_owner
    killed_at = _kill(int(owner.split("/")[2]))
    _kill(child)
    return _seconds_until_another(build, step, owner, killed_at)


def _seconds_until_another(build: Build, step: str, owner: str, killed_at: float) -> float:
    wait_for(lambda: fresh(build).lease_owner not in ("", owner), _PATIENCE_SECONDS)
    wait_for(lambda: _step(build, step).state == "running", _PATIENCE_SECONDS)
    return time.monotonic() - killed_at


def _kill_child(build: Build, step: str) -> float:
    killed_at = _kill(_child_at_work(build, step))
    wait_for(lambda: fresh(build).state == "failed", _PATIENCE_SECONDS)
    seconds = time.monotonic() - killed_at
    failure = fresh(build).failure
    assert failure["code"] == "EHB-KILLED", failure
    build_retry(build=fresh(build))
    return seconds


def _cancel(build: Build, step: str) -> float:
    _child_at_work(build, step)
    if step == "calibrate":
        _amid_samples(build)
    asked_at = time.monotonic()
    build_cancel(build=fresh(build))
    wait_for(lambda: fresh(build).state == "cancelled", _PATIENCE_SECONDS)
    seconds = time.monotonic() - asked_at
    build_retry(build=fresh(build))
    return seconds


def _kill_server(up: psutil.Process, mark: str, build: Build, step: str) -> float:
    _child_at_work(build, step)
    killed_at = _kill(process_named(up, mark).pid)
    wait_for(lambda: _step(build, step).state == "finished", _PATIENCE_SECONDS)
    return time.monotonic() - killed_at


def _amid_samples(build: Build) -> None:
    def is_partly_done() -> bool:
        step = _step(build, "calibrate")
        return step.progress_unit == "samples" and 0 < step.progress_done < step.progress_total

    wait_for(is_partly_done, _PATIENCE_SECONDS)


def _child_at_work(build: Build, step: str) -> int:
    wait_for(lambda: _step(build, step).state == "running", _PATIENCE_SECONDS)
    return wait_for(lambda: _child_of(build), _PATIENCE_SECONDS)


def _child_of(build: Build) -> int | None:
    marker = f"build/{build.id}/{fresh(build).lease_token}"
    return next((pid for pid, lease in _marked(None) if lease == marker), None)


def _marked(folder: Path | None) -> list[tuple[int, str]]:
    found = []
    for each in processes():
        marks = environment(each.pid)
        is_ours = folder is None or marks.get(INSTANCE_VARIABLE) == str(folder)
        if LEASE_VARIABLE in marks and is_ours and not each.ended:
            found.append((each.pid, marks[LEASE_VARIABLE]))
    return found


def _kill(pid: int) -> float:
    psutil.Process(pid).kill()
    return time.monotonic()


def _step(build: Build, step: str) -> BuildStep:
    return build.steps.get(name=step)
