from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.overrides import overridden
from controlplane.domain.memory.gpu_plan import FALLBACK_SEQUENCE_TOKENS, plan_gpu
from controlplane.domain.memory.memory_plan import (
    Device,
    MemoryPlan,
    PlanInputs,
    UnplannableError,
)
from controlplane.domain.memory.runtime_memory import RuntimeMemory
from controlplane.domain.spec import Spec

__all__ = ["FALLBACK_SEQUENCE_TOKENS", "Device", "MemoryPlan", "UnplannableError", "plan"]


def plan(
    spec: Spec,
    checkpoint: CheckpointFacts,
    device: Device,
    runtime: RuntimeMemory,
    *,
    tensor_parallel: int | None = None,
    computes_bfloat16: bool = False,
) -> MemoryPlan:
    """Return the plan of one GPU under this runtime. Raises `UnplannableError`.

    `computes_bfloat16` is a fact of the host's processor, and counts where it is the GPU.
    """
    inputs = PlanInputs(
        spec=spec,
        checkpoint=overridden(checkpoint, spec.config_overrides),
        device=device,
        runtime=runtime,
        tensor_parallel=tensor_parallel,
        computes_bfloat16=computes_bfloat16,
    )
    return (runtime.planner or plan_gpu)(inputs)
