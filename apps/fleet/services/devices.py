"""The ledger of who holds which GPU: a GPU is held whole, a CPU is shared by memory."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from apps.fleet.models import Device, DeviceLease, Node
from apps.fleet.selectors import devices_of_pool, nodes_alive, pools_closed_to
from controlplane import clock

ENDED_KEPT = timedelta(days=7)
_SHOWN_HOLDERS = 4


class NoRoom(Exception):
    """The node has no such GPUs free; the text says what was asked, what there is, and who has it.

    `holders` are in the way now; `is_hopeless` where the node would not do with all of them gone;
    `is_used_by_others` where a GPU that nobody has claimed is in use all the same.
    """

    def __init__(
        self,
        sentence: str,
        *,
        holders: Collection[str] = (),
        is_hopeless: bool = False,
        is_used_by_others: bool = False,
    ) -> None:
        super().__init__(sentence)
        self.holders = frozenset(holders)
        self.is_hopeless = is_hopeless
        self.is_used_by_others = is_used_by_others


@dataclass(frozen=True, kw_only=True)
class Claimant:
    """For whom GPUs are claimed, which decides what may be taken; nothing said forbids nothing."""

    team_id: str | None = None
    """GPUs of pools that serve other teams only are not for it."""
    pool: str | None = None
    """Only GPUs of this pool."""
    is_pool_of_node: bool = True
    """Whether a GPU that is assigned to no pool counts as one of its node's."""
    is_new: bool = False
    """It runs nowhere yet, so a cordoned node is not for it."""

    def devices(self) -> QuerySet[Device]:
        devices = Device.objects.filter(is_present=True)
        if self.team_id is not None:
            closed = pools_closed_to(team_id=self.team_id)
            devices = devices.exclude(Q(pool__in=closed) | Q(pool="", node__pool__in=closed))
        if self.pool is None:
            return devices
        here = devices_of_pool(self.pool) if self.is_pool_of_node else Q(pool__in=["", self.pool])
        return devices.filter(here)


ANYBODY = Claimant()


def devices_lock(devices: QuerySet[Device]) -> list[Device]:
    """Return the GPUs, locked in the one order in which GPUs are, so that nobody waits in a ring.

    GPUs come before their nodes: whoever holds the lock of a node waits for no GPU.
    """
    return list(devices.order_by("id").select_for_update(of=("self",)))


@transaction.atomic
def devices_claim(
    *,
    holder: str,
    node: Node,
    kind: str,
    count: int,
    memory_bytes: int,
    claimant: Claimant = ANYBODY,
) -> tuple[Device, ...]:
    """Return the `count` GPUs of `kind` that `holder` now has on `node`; a repeat changes nothing.

    `memory_bytes` is what is needed on each GPU. Raises NoRoom.
    """
    mine = claimant.devices().filter(node=node, kind=kind)
    present = sorted(devices_lock(mine), key=lambda device: (device.index, device.id))
    leased = _leased_by(holder, present)
    if leased:
        return leased
    if not nodes_alive().filter(id=node.id).exists():
        raise NoRoom(f"Node `{node.name}` does not speak: nobody knows what is free on it.")
    # Looked at under the lock of the GPUs, which whoever cordons the node takes as well.
    if claimant.is_new and Node.objects.filter(id=node.id, cordoned=True).exists():
        raise NoRoom(f"Node `{node.name}` is cordoned.")
    free = [device for device in present if _has_room(device, memory_bytes)]
    if len(free) < count:
        raise _no_room(node, kind, count, memory_bytes, present, free)
    chosen = free[:count]
    DeviceLease.objects.bulk_create(
        DeviceLease(device=device, holder=holder, memory_bytes=memory_bytes) for device in chosen
    )
    return tuple(chosen)


@transaction.atomic
def devices_keep(
    *, holder: str, node: Node, kind: str, count: int, memory_bytes: int
) -> tuple[Device, ...]:
    """Return `count` GPUs of those that `holder` has, where they suffice; give back all others.

    Nothing is kept where they do not: who waits for GPUs must hold none meanwhile, or two that
    each hold a part would wait for ever.
    """
    leases = DeviceLease.objects.filter(holder=holder, released_at=None)
    fitting = leases.filter(
        device__node=node,
        device__kind=kind,
        device__is_present=True,
        memory_bytes__gte=memory_bytes,
    )
    kept = list(fitting.order_by("device__index").select_related("device")[:count])
    if len(kept) < count:
        kept = []
    leases.exclude(id__in=[lease.id for lease in kept]).update(released_at=Now())
    leases.filter(id__in=[lease.id for lease in kept]).update(memory_bytes=memory_bytes)
    return tuple(lease.device for lease in kept)


def devices_obstacle(
    *, node: Node, kind: str, count: int, memory_bytes: int, claimant: Claimant
) -> NoRoom | None:
    """Return why the claim would be refused now, None where it would not; claims nothing."""
    present = list(claimant.devices().filter(node=node, kind=kind).order_by("index"))
    free = [device for device in present if _has_room(device, memory_bytes)]
    if len(free) >= count:
        return None
    return _no_room(node, kind, count, memory_bytes, present, free)


def devices_release(*, holder: str) -> None:
    """Give back every GPU that `holder` has; a repeat changes nothing."""
    DeviceLease.objects.filter(holder=holder, released_at=None).update(released_at=Now())


def device_leases_prune() -> int:
    return DeviceLease.objects.filter(released_at__lt=clock.now() - ENDED_KEPT).delete()[0]


def free_of(device: Device, live_leases: Sequence[DeviceLease]) -> int:
    """Return how much of the GPU may still be claimed beside these claims."""
    if device.is_shared:
        return max(0, device.memory_bytes - sum(lease.memory_bytes for lease in live_leases))
    return 0 if live_leases or device.others else device.memory_bytes


def free_bytes(device: Device) -> int:
    """Return how much of the GPU may still be claimed now."""
    return free_of(device, list(DeviceLease.objects.filter(device=device, released_at=None)))


def _leased_by(holder: str, devices: Sequence[Device]) -> tuple[Device, ...]:
    leased = set(
        DeviceLease.objects.filter(holder=holder, released_at=None, device__in=devices).values_list(
            "device_id", flat=True
        )
    )
    return tuple(device for device in devices if device.id in leased)


def _has_room(device: Device, memory_bytes: int) -> bool:
    return memory_bytes <= free_bytes(device)


def _no_room(
    node: Node, kind: str, count: int, memory_bytes: int, present: list[Device], free: list[Device]
) -> NoRoom:
    if not present:
        return NoRoom(
            f"Node `{node.name}` has no `{kind}` GPU that is assigned to this team and pool, and "
            f"{count} are needed.",
            is_hopeless=True,
        )
    leases = DeviceLease.objects.filter(device__in=present, released_at=None).order_by(
        "-memory_bytes"
    )
    holders = [f"`{lease.holder}` ({_gib(lease.memory_bytes)})" for lease in leases]
    claimed = {lease.device_id for lease in leases}
    others = [device.others for device in present if device.id not in claimed and device.others]
    return NoRoom(
        f"Node `{node.name}` has {len(free)} of {len(present)} `{kind}` GPUs with "
        f"{_gib(memory_bytes)} free, and {count} are needed; the most free on one is "
        f"{_gib(max(map(free_bytes, present)))}. {_holder_words(holders, others)}".rstrip(),
        holders={lease.holder for lease in leases},
        is_used_by_others=bool(others),
        is_hopeless=sum(device.memory_bytes >= memory_bytes for device in present) < count,
    )


def _holder_words(holders: Sequence[str], others: Sequence[str]) -> str:
    words = list(others[:_SHOWN_HOLDERS])
    if holders:
        more = f" and {len(holders) - _SHOWN_HOLDERS} more" if len(holders) > _SHOWN_HOLDERS else ""
        words = [f"Held by {', '.join(holders[:_SHOWN_HOLDERS])}{more}.", *words]
    return " ".join(words)


def _gib(count_bytes: int) -> str:
    return f"{count_bytes / 1024**3:.1f} GiB"
