"""The memory plan of a config, a checkpoint and a card."""

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.memory.cpu_plan import plan_cpu
from controlplane.domain.memory.gpu_plan import FALLBACK_SEQUENCE_TOKENS, plan_gpu
from controlplane.domain.memory.memory_plan import (
    Card,
    MemoryPlan,
    PlanInputs,
    UnplannableError,
)
from controlplane.domain.spec import Spec

__all__ = ["FALLBACK_SEQUENCE_TOKENS", "Card", "MemoryPlan", "UnplannableError", "plan"]


def plan(
    spec: Spec,
    checkpoint: CheckpointFacts,
    card: Card,
    runtime_name: str,
    *,
    tensor_parallel: int | None = None,
) -> MemoryPlan:
    """Return the plan of one card under this runtime. Raises `UnplannableError`."""
    inputs = PlanInputs(
        spec=spec,
        checkpoint=checkpoint,
        card=card,
        runtime_name=runtime_name,
        tensor_parallel=tensor_parallel,
    )
    return plan_cpu(inputs) if runtime_name == "native" else plan_gpu(inputs)
