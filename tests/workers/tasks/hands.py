"""Hands on running builds: which processes they are, and the sweep that would look after them."""

import signal
import time
from collections.abc import Callable

from django.conf import settings

from apps.builds.leasing import BUILD
from apps.builds.models import Build
from apps.leases.queue import work_send
from tests.processes import wait_for
from workers.build_steps.processes import (
    INSTANCE_VARIABLE,
    LEASE_VARIABLE,
    environment,
    process,
    processes,
)
from workers.build_steps.processes import send as signal_process
from workers.tasks.sweep import sweep

TRUE_STATE_SECONDS = 15.0
CANCEL_SECONDS = 5.0


class Sweeper:
    """Stands for beat and the control worker: sweeps every three seconds, as they do."""

    def __init__(self) -> None:
        self._swept_at = time.monotonic()

    def __call__(self) -> None:
        if time.monotonic() - self._swept_at >= 3:
            self._swept_at = time.monotonic()
            sweep(format=1)


def send(build: Build) -> Build:
    work_send(BUILD, build)
    return build


def fresh(build: Build) -> Build:
    return Build.objects.get(id=build.id)


def wait_for_build(
    build: Build,
    condition: Callable[[Build], object],
    *,
    seconds: float = 150.0,
    meanwhile: Callable[[], object] = lambda: None,
) -> Build:
    """Return the build once the condition holds of it."""
    wait_for(
        lambda: condition(fresh(build)),
        seconds=seconds,
        what=lambda: f"{fresh(build).__dict__} {list(build.steps.values('name', 'state'))}",
        meanwhile=meanwhile,
    )
    return fresh(build)


def step_is(build: Build, step: str, *states: str) -> bool:
    return build.steps.get(name=step).state in states


def wait_for_step(build: Build, step: str) -> int:
    """Return the pid of the step's child, once it is at work."""
    wait_for_build(build, lambda each: step_is(each, step, "running"))
    return wait_for(
        lambda: next(iter(child_pids(fresh(build))), 0), seconds=60, what=f"a child of {step}"
    )


def wait_for_samples(build: Build) -> None:
    """Return in the middle of calibration: some samples are through, and some are not."""

    def is_partly_done(_build: Build) -> bool:
        step = build.steps.get(name="calibrate")
        return step.progress_unit == "samples" and 0 < step.progress_done < step.progress_total

    wait_for_build(build, is_partly_done)


def is_at_work(build: Build, step: str) -> bool:
    return bool(build.lease_owner) and step_is(build, step, "running")


def kill_process(pid: int) -> None:
    found = process(pid)
    assert found is not None
    signal_process(found, signal.SIGKILL)


def wait_until_nothing_is_left(build: Build) -> None:
    """Return once no output is half done, and no process is there of a lease that nobody holds.

    The worker tells of the end before it cleans up.
    """
    folder = settings.DATA_DIR / "builds" / build.id
    wait_for(lambda: not list(folder.glob(".*")), seconds=60, what="the end of its drafts")
    wait_for_no_orphans()


def wait_for_no_orphans() -> None:
    wait_for(lambda: not orphans(), seconds=60, what=lambda: f"no orphan: {orphans()}")


def wait_for_end(pid: int) -> None:
    """Return once the process is gone, or dead and not yet buried."""

    def has_ended() -> bool:
        found = process(pid)
        return found is None or found.ended

    wait_for(has_ended, seconds=60, what=f"the end of process {pid}")


def child_pids(build: Build) -> list[int]:
    """The processes of the build's present lease, the first of its sessions first."""
    marker = f"build/{build.id}/{build.lease_token}"
    return [each for each, lease in marked() if lease == marker]


def marked() -> list[tuple[int, str]]:
    """Every living process of a build of this installation, with its lease."""
    found = []
    for each in processes():
        marks = environment(each.pid)
        if marks.get(INSTANCE_VARIABLE) == str(settings.DATA_DIR) and not each.ended:
            found.append((each.session != each.pid, each.pid, marks[LEASE_VARIABLE]))
    return [(pid, lease) for _, pid, lease in sorted(found)]


def owner_pid(build: Build) -> int:
    """The worker that held the build when it was read."""
    return int(build.lease_owner.split("/")[2])


def orphans() -> list[tuple[int, str]]:
    """Living processes of leases that nobody holds."""
    live = {
        f"build/{build.id}/{build.lease_token}"
        for build in Build.objects.exclude(lease_expires_at=None)
    }
    return [(pid, lease) for pid, lease in marked() if lease not in live and process(pid)]
