"""What a plan has to know of a runtime: mostly what it takes beside weights and KV cache."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from controlplane.domain.facts.gpus import GIB
from controlplane.domain.facts.precision_support import PrecisionSupport

if TYPE_CHECKING:
    from controlplane.domain.facts.checkpoints import CheckpointFacts
    from controlplane.domain.memory.memory_plan import MemoryPlan, PlanInputs
    from controlplane.domain.spec import Spec


@dataclass(frozen=True, kw_only=True)
class RuntimeMemory:
    """One runtime's constants; those not named are TensorRT-LLM's, by its recorded runs."""

    name: str
    planner: "Callable[[PlanInputs], MemoryPlan] | None" = None
    """How its memory is planned; None for the way of engines on GPUs."""
    divides: bool = True
    """Whether it divides a model over several GPUs."""
    wants_whole_shares: bool = False
    """Whether it fails to start where ranks get uneven shares, or parts of blocks of scales."""
    precisions: PrecisionSupport = field(default_factory=PrecisionSupport)
    context_bytes: int = round(3.15 * GIB)
    """CUDA context, cuBLAS, CUDA graphs, samplers of a usual batch, and the slack of the fit.

    All recorded runs are met from 3.0 to 3.22 GiB, which runs of one rank and few requests bound.
    """
    communication_bytes: tuple[int, int] = (round(0.8 * GIB), round(1.5 * GIB))
    """Of NCCL and the all-reduce workspaces on each of two ranks, and of four or more."""
    quantized_workspace: float = 0.04
    """Share of quantized weights that their kernels keep beside them."""
    block_reserve: float = 0.005
    """Share of the KV budget that the block allocator keeps, and that CUDA shows less than NVML."""
    block_tokens: int = 32
    counts_engine_tables: bool = False
    """Whether its report counts position tables and rests of segments as weights."""
    most_of_device: float | None = None
    """Share of the GPU that the engine may use in all, where it is told one."""
    profiled_drafts: int | None = None
    """Drafts a request whose logits are looked at before the cache is sized; None where all are."""
    widened: frozenset[str] = frozenset()
    """Types of models that it computes in float32 on GPUs that have no bfloat16."""
    smallest_step: "Callable[[Spec, CheckpointFacts], int] | None" = None
    """The tokens that it raises a step to; None where it takes the step as it is asked for."""
    measured: bool = False
    """Whether the constants were held against runs on more than one kind of GPU."""


MARGIN_SHARE = 0.02
MARGIN_UNDER_REQUESTS = 50
"""Below so many requests the margin is one whole request."""
MARGIN_KINDS = frozenset({"H100", "H100_40GB"})
"""All that an earlier fit exceeded was on H100; a plan says green only with this much to spare."""


def overhead_bytes(memory: RuntimeMemory, *, world_size: int, quantized_bytes: int) -> int:
    two, many = memory.communication_bytes
    communication = 0 if world_size == 1 else two if world_size == 2 else many
    workspace = round(memory.quantized_workspace * quantized_bytes)
    return memory.context_bytes + communication + workspace
