"""The GPUs of a build, claimed and given back by the holder of its lease alone."""

from dataclasses import dataclass

from apps.builds.leasing import device_holder
from apps.builds.services.claims import held_build
from apps.fleet.models import Device, Node
from apps.fleet.services.devices import Claimant, devices_claim, devices_keep, devices_release
from apps.leases.lease import Lease


@dataclass(frozen=True, kw_only=True)
class DeviceNeed:
    """What a step wants to hold; `memory_bytes` is on each GPU."""

    kind: str
    count: int
    memory_bytes: int


def build_devices_claim(*, lease: Lease, node: Node, need: DeviceNeed) -> tuple[Device, ...]:
    """Return the GPUs that the build now holds, and it holds no others.

    What it had is kept where it suffices, and otherwise given back first, also where NoRoom comes.

    Raises:
        NoRoom: the build holds nothing now.
        LeaseLost: another token is on the build.
    """
    holder = device_holder(lease.id)
    with held_build(lease):
        kept = devices_keep(
            holder=holder,
            node=node,
            kind=need.kind,
            count=need.count,
            memory_bytes=need.memory_bytes,
        )
    if kept:
        return kept
    # On its own: a refusal must not take back what was given back.
    with held_build(lease) as build:
        return devices_claim(
            holder=holder,
            node=node,
            kind=need.kind,
            count=need.count,
            memory_bytes=need.memory_bytes,
            # The worker of the pool is here, so what its node leaves unassigned is the pool's.
            claimant=Claimant(team_id=build.team_id, pool=build.pool, is_pool_of_node=False),
        )


def build_devices_release(*, lease: Lease) -> None:
    """Give back what the build holds: the next step needs none of it."""
    with held_build(lease) as build:
        devices_release(holder=device_holder(build.id))
