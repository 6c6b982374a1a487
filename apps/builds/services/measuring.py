"""What the supervisor of a step counted, stored under the lease."""

from apps.builds.models import BuildStep
from apps.builds.services.claims import held_build
from apps.leases.lease import Lease
from controlplane.domain.forecast.outcome import Measured


def step_measure(*, lease: Lease, step: str, measured: Measured) -> None:
    with held_build(lease) as build:
        BuildStep.objects.filter(build=build, name=step).update(measured=measured.model_dump())
