from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction
from django.db.models import Exists, Q

from apps.builds.leasing import BUILD
from apps.builds.models import Build, BuildStep
from apps.fleet.models import Node
from apps.leases.lease import Lease
from apps.leases.services import lease_claim, lease_held
from controlplane.domain.lifecycle import StepState


@transaction.atomic
def build_claim(*, build_id: str, owner: str, on_node: str = "") -> Lease | None:
    """Return a lease on a build that nobody holds, or None where another was first.

    A worker of a cordoned node takes none: the sweep offers the build again, to another.
    """
    cordoned = Exists(Node.objects.filter(name=on_node, cordoned=True))
    lease = lease_claim(kind=BUILD, id=build_id, owner=owner, only=~Q(cordoned))
    if lease is not None:
        left_running = BuildStep.objects.filter(build_id=build_id, state=StepState.RUNNING)
        left_running.update(state=StepState.WAITING, progress_done=0, progress_total=None)
    return lease


@contextmanager
def held_build(lease: Lease) -> Iterator[Build]:
    """Open a transaction in which nobody can take the build. Raises LeaseLost."""
    with lease_held(lease) as build:
        yield build
