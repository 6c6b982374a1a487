"""Which GPUs a build holds, and what it waits for: for its page and for programs."""

from collections.abc import Sequence
from dataclasses import dataclass

from apps.builds.leasing import RUNNING, device_holder
from apps.builds.models import Build
from apps.fleet.models import DeviceLease
from apps.fleet.selectors import leases_of_holder, pool_is_cordoned
from apps.ui import formats
from controlplane.domain.lifecycle import BuildState, StepState

_CORDONED = "Every node of pool `{pool}` is cordoned, and takes no build until one is opened."


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """A step that has not begun because there is no room for it."""

    step: str
    reason: str


def held_devices(build: Build) -> Sequence[DeviceLease]:
    """Return the claims of a running build, with GPU and node; others hold nothing."""
    return leases_of_holder(device_holder(build.id)) if build.state in RUNNING else ()


def waiting_of(build: Build) -> Waiting | None:
    if build.state == BuildState.QUEUED and pool_is_cordoned(build.pool):
        return Waiting(step="fetch", reason=_CORDONED.format(pool=build.pool))
    for step in build.steps.all():
        if step.state == StepState.RUNNING and step.waits_for and build.state in RUNNING:
            return Waiting(step=step.name, reason=step.waits_for)
    return None


def held_words(lease: DeviceLease) -> str:
    """Return `H100 2`, or `4.0 GiB of memory` on a GPU that is shared."""
    if lease.device.is_shared:
        return f"{formats.size(lease.memory_bytes)} of memory"
    return f"{lease.device.kind}\u00a0{lease.device.index}"
