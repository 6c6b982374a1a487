"""The GPUs that a step runs on, leased from the same ledger as those of replicas."""

from collections.abc import Callable
from dataclasses import dataclass

import psutil
from django.conf import settings
from django.db.models import QuerySet

from apps.builds.leasing import device_holder
from apps.builds.services.devices import DeviceNeed, build_devices_claim, build_devices_release
from apps.builds.services.progress import step_wait
from apps.fleet.models import Node
from apps.fleet.selectors import SILENT_SECONDS, nodes_alive, smallest_device_bytes
from apps.fleet.services.devices import NoRoom
from controlplane.clock import SYSTEM, Clock
from controlplane.domain.facts.gpus import CPU
from controlplane.domain.failures import Failure
from controlplane.domain.failures.kind import FailureKind
from controlplane.domain.failures.registry import build
from controlplane.domain.spec import Spec
from workers.agent import nvidia
from workers.agent.clean_devices import what_holds
from workers.tasks.building.report import StepReport
from workers.tasks.building.stopped import StepFailed
from workers.tasks.leasing import LeaseKeeper, retry_on_db_error

_PATIENCE_SECONDS = 600.0
"""For replicas and strangers, which do not end by themselves; other builds are waited for."""
_PAUSE_SECONDS = 1.0
_BUILDS = device_holder("")
"""How the name of every build that holds GPUs begins."""

Need = Callable[[int], DeviceNeed]
"""What the step needs, where the smallest of this node's GPUs of the kind has so many bytes."""


@dataclass(frozen=True, kw_only=True)
class HeldDevices:
    kind: str
    memory_bytes: int
    """On each GPU."""
    uuids: tuple[str, ...] = ()
    """Of its GPUs; none on a CPU."""

    @property
    def device(self) -> str:
        """The kind of device that torch is to use."""
        return "cuda" if self.uuids else "cpu"

    @property
    def environment(self) -> dict[str, str]:
        return {"CUDA_VISIBLE_DEVICES": ",".join(self.uuids)}


@dataclass(frozen=True, kw_only=True)
class _Refusal:
    kind: FailureKind
    reason: str
    is_final: bool = False
    """Waiting would change nothing."""
    has_turn: bool = False
    """A build holds what is missing, and will end."""

    def to_failure(self, step: str) -> Failure:
        waited = "" if self.is_final else f" within {_PATIENCE_SECONDS / 60:.0f} minutes"
        return self.kind.failure(step=step, waited=waited, reason=self.reason)


class StepDevices:
    def __init__(
        self, keeper: LeaseKeeper, report: StepReport, *, step: str, clock: Clock = SYSTEM
    ) -> None:
        self._keeper = keeper
        self._clock = clock
        self._report = report
        self._step = step
        self._last_message = ""

    def claim(self, spec: Spec, need: Need) -> HeldDevices:
        """Return what the build holds now; where this host has no node, its CPU without a lease.

        Raises:
            StepFailed: this node will never do, or only replicas and strangers were in the way for
                ten minutes, or nobody could tell of its GPUs.
            Interrupted: the build may not go on.
        """
        kind = spec.accelerator.kind if spec.accelerator else CPU
        if not retry_on_db_error(self._keeper, lambda: _own_nodes().exists()):
            self._report.say(
                f"no node named {settings.NODE_NAME} is enrolled: running on this host's CPU "
                "without a lease on its memory"
            )
            whole = psutil.virtual_memory().total
            return HeldDevices(kind=CPU, memory_bytes=need(whole).memory_bytes)
        clock = self._clock
        give_up_at = clock.monotonic() + _PATIENCE_SECONDS
        while not isinstance(claimed := self._ask(kind, need), HeldDevices):
            self._tell(claimed.reason)
            if claimed.has_turn:
                give_up_at = clock.monotonic() + _PATIENCE_SECONDS
            elif claimed.is_final or clock.monotonic() > give_up_at:
                raise StepFailed(claimed.to_failure(self._step))
            clock.sleep(_PAUSE_SECONDS)
            self._report.tick()
            self._keeper.check()
        self._tell("")
        return claimed

    def release(self) -> None:
        """Give back what the build holds: the step needs no GPU."""
        retry_on_db_error(self._keeper, lambda: build_devices_release(lease=self._keeper.lease))

    def _ask(self, kind: str, need: Need) -> HeldDevices | _Refusal:
        return retry_on_db_error(self._keeper, lambda: _claimed(self._keeper, kind, need))

    def _tell(self, reason: str) -> None:
        if reason == self._last_message:
            return
        self._report.say(f"waiting for room: {reason}" if reason else "got room")
        lease = self._keeper.lease
        retry_on_db_error(
            self._keeper, lambda: step_wait(lease=lease, step=self._step, reason=reason)
        )
        self._last_message = reason


def _claimed(keeper: LeaseKeeper, kind: str, need: Need) -> HeldDevices | _Refusal:
    """Return the GPUs, proven free: what the ledger knows of others is seconds old."""
    node = nodes_alive().filter(name=settings.NODE_NAME).first()
    if node is None:
        # What its engines hold is unknown: to start beside them could take the host down.
        return _silent()
    need_bytes = need(smallest_device_bytes(node=node, kind=kind))
    try:
        devices = build_devices_claim(lease=keeper.lease, node=node, need=need_bytes)
    except NoRoom as refused:
        return _no_room(refused)
    uuids = tuple(device.uuid for device in devices if device.kind != CPU)
    # Without the library there is nobody to ask; the agent, which found the GPUs, has it.
    if (others := what_holds(uuids) if nvidia.is_there() else None) is not None:
        return _in_use(others.sentence)
    return HeldDevices(kind=kind, memory_bytes=need_bytes.memory_bytes, uuids=uuids)


def _own_nodes() -> QuerySet[Node]:
    return Node.objects.filter(name=settings.NODE_NAME)


def _silent() -> _Refusal:
    return _Refusal(
        kind=build.NODE_SILENT,
        reason=f"Node `{settings.NODE_NAME}` has not spoken for {SILENT_SECONDS} seconds, so "
        "nobody knows what is free on it.",
    )


def _in_use(reason: str, *, has_turn: bool = False) -> _Refusal:
    return _Refusal(kind=build.GPU_IN_USE, reason=reason, has_turn=has_turn)


def _no_room(refused: NoRoom) -> _Refusal:
    if refused.is_hopeless:
        return _Refusal(kind=build.NO_GPUS, reason=str(refused), is_final=True)
    has_turn = any(holder.startswith(_BUILDS) for holder in refused.holders)
    if refused.is_used_by_others:
        return _in_use(str(refused), has_turn=has_turn)
    return _Refusal(kind=build.NO_ROOM, reason=str(refused), has_turn=has_turn)
