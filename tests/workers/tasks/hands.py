"""Hands on running builds: which processes they are, and the sweep that would look after them."""

import signal
from collections.abc import Callable

from django.conf import settings

from apps.builds.leasing import BUILD
from apps.builds.models import Build
from apps.leases.queue import work_send
from tests.waiting import wait_for
from tests.workers.tasks.pair import Pair
from workers.build_steps.environment import SAMPLES_GATE
from workers.build_steps.processes import (
    INSTANCE_VARIABLE,
    LEASE_VARIABLE,
    environment,
    process,
    processes,
)
from workers.build_steps.processes import send as signal_process
from workers.tasks.sweep import sweep


class Sweeper:
    """Stands for beat and the control worker: sweeps now and then while a test looks."""

    _LOOKS = 20

    def __init__(self) -> None:
        self._looks = 0

    def __call__(self) -> None:
        self._looks += 1
        if self._looks % self._LOOKS == 0:
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
    meanwhile: Callable[[], object] = lambda: None,
) -> Build:
    """Return the build once the condition holds of it."""
    wait_for(
        lambda: condition(fresh(build)),
        what=lambda: f"{fresh(build).__dict__} {list(build.steps.values('name', 'state'))}",
        meanwhile=meanwhile,
    )
    return fresh(build)


def step_is(build: Build, step: str, *states: str) -> bool:
    return build.steps.get(name=step).state in states


def wait_for_step(build: Build, step: str, pair: Pair) -> int:
    """Return the pid of the step's child, which stands at the step's gate."""
    return _stands_at(step, build, pair)


def wait_for_samples(build: Build, pair: Pair) -> int:
    """Return the pid of the calibration's child, which stands between two batches of samples."""
    return _stands_at(SAMPLES_GATE, build, pair)


def _stands_at(gate: str, build: Build, pair: Pair) -> int:
    def found() -> int:
        if not (standing := pair.gates.standing(gate)):
            return 0
        of_the_build = child_pids(fresh(build))
        return next((pid for pid in standing if pid in of_the_build), 0)

    return wait_for(found, what=lambda: f"a child at `{gate}`: {fresh(build).__dict__}")


def is_at_work(build: Build, step: str) -> bool:
    return bool(build.lease_owner) and step_is(build, step, "running")


def kill_process(pid: int) -> None:
    outcome = process(pid)
    assert outcome is not None
    signal_process(outcome, signal.SIGKILL)


def wait_until_nothing_is_left(build: Build) -> None:
    """Return once no output is half done, and no process is there of a lease that nobody holds.

    The worker tells of the end before it cleans up.
    """
    folder = settings.DATA_DIR / "builds" / build.id
    wait_for(lambda: not list(folder.glob(".*")), what="the end of its drafts")
    wait_for_no_orphans()


def wait_for_no_orphans() -> None:
    wait_for(lambda: not orphans(), what=lambda: f"no orphan: {orphans()}")


def wait_for_end(pid: int) -> None:
    """Return once the process is gone, or dead and not yet buried."""

    def has_ended() -> bool:
        outcome = process(pid)
        return outcome is None or outcome.ended

    wait_for(has_ended, what=f"the end of process {pid}")


def child_pids(build: Build) -> list[int]:
    """The processes of the build's present lease, the first of its sessions first."""
    marker = f"build/{build.id}/{build.lease_token}"
    return [each for each, lease in marked() if lease == marker]


def marked() -> list[tuple[int, str]]:
    """Every living process of a build of this installation, with its lease."""
    entries = []
    for each in processes():
        marks = environment(each.pid)
        if marks.get(INSTANCE_VARIABLE) == str(settings.DATA_DIR) and not each.ended:
            entries.append((each.session != each.pid, each.pid, marks[LEASE_VARIABLE]))
    return [(pid, lease) for _, pid, lease in sorted(entries)]


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
