"""What the supervisor of a step counted, stored under the lease."""

from dataclasses import asdict, dataclass

from apps.builds.models import BuildStep
from apps.builds.services.claims import held_build
from apps.leases.lease import Lease


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What one run of a step took; None where nobody could measure."""

    seconds: float
    """Of its own process: without the wait for GPUs before."""
    host: str
    """The node that it ran on."""
    peak_host_bytes: int | None
    peak_device_bytes: int | None
    device_bytes_from: str | None
    """`NVML` or `torch`."""
    disk_bytes: int | None
    """Of what the step left; None where it left nothing to keep."""


def step_measure(*, lease: Lease, step: str, measured: Measured) -> None:
    with held_build(lease) as build:
        BuildStep.objects.filter(build=build, name=step).update(measured=asdict(measured))
