from dataclasses import dataclass

from apps.deployments.models import Deployment
from controlplane.domain import memory
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.gpus import CPU
from controlplane.domain.runtimes import RUNTIMES
from controlplane.domain.spec import Spec


@dataclass(frozen=True, kw_only=True)
class Hardware:
    kind: str
    count: int
    pool: str


@dataclass(frozen=True, kw_only=True)
class _Device:
    kind: str
    memory_bytes: int


def hardware_of(deployment: Deployment) -> Hardware:
    """Return what the deployment's spec asks for; without an accelerator that is a CPU."""
    spec = Spec.model_validate(deployment.spec)
    return Hardware(
        kind=spec.accelerator.kind if spec.accelerator else CPU,
        count=spec.accelerator_count,
        pool=spec.pool,
    )


def bytes_per_device(
    deployment: Deployment, *, kind: str, device_bytes: int, computes_bfloat16: bool = False
) -> int:
    """Return the planned bytes on each GPU; a GPU is taken whole, since nobody shares it.

    Raises memory.UnplannableError.
    """
    if kind != CPU:
        return device_bytes
    plan = memory.plan(
        Spec.model_validate(deployment.spec),
        CheckpointFacts.model_validate(deployment.checkpoint or {}),
        _Device(kind=kind, memory_bytes=device_bytes),
        RUNTIMES[deployment.runtime].memory,
        computes_bfloat16=computes_bfloat16,
    )
    return plan.reserved_bytes


def instance_type_name(deployment: Deployment) -> str:
    """Return the hardware of one replica in words, such as `CPU` or `H100:2`."""
    accelerator = deployment.spec.get("resources", {}).get("accelerator")
    return str(accelerator or CPU)
