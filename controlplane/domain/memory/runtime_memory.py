"""What a GPU runtime takes beside weights and KV cache, as constants with their origin.

TensorRT-LLM's are fitted to 72 recorded runs (H100 and GB300; Llama-3.1-8B in 16 bits, Qwen3-32B in
block-scaled FP8; 1, 2 and 4 ranks): all 72 are met within 2 % and none is exceeded. vLLM's are set
on what vLLM 0.25.1 reported of itself on one H200. Both are in-sample; other GPUs and models are
estimates. Checked 2026-11-28.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from controlplane.domain.facts.gpus import GIB

MOST_OF_A_DEVICE = 0.95
"""What vLLM is given at most: its CUDA context and graphs lie outside of its own share."""


@dataclass(frozen=True, kw_only=True)
class RuntimeMemory:
    """One runtime's constants."""

    context_bytes: int = round(3.5 * GIB)
    """CUDA context, cuBLAS, CUDA graphs, samplers of a usual batch, and the slack of the fit."""
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
    measured: bool = False
    """Whether the constants were held against runs on more than one kind of GPU."""


RUNTIME_MEMORY: Mapping[str, RuntimeMemory] = MappingProxyType(
    {
        "trtllm": RuntimeMemory(measured=True),
        # Its KV cache is what its share of the GPU leaves; CUDA context and graphs lie outside.
        # Beside weights and planned activations it took 0.3 GiB with SmolLM2, 0.9 with Qwen3-8B.
        "vllm": RuntimeMemory(
            context_bytes=GIB,
            quantized_workspace=0.0,
            block_tokens=16,
            counts_engine_tables=True,
            most_of_device=MOST_OF_A_DEVICE,
            profiled_drafts=1,
        ),
    }
)
MARGIN_SHARE = 0.02
MARGIN_UNDER_REQUESTS = 50
"""Below so many requests the margin is one whole request."""
MARGIN_KINDS = frozenset({"H100", "H100_40GB"})
"""All that an earlier fit exceeded was on H100; a plan says green only with this much to spare."""


def runtime_memory(name: str) -> RuntimeMemory:
    """Return the constants of a GPU runtime; those of the flagship where it has none of its own."""
    return RUNTIME_MEMORY.get(name, RUNTIME_MEMORY["trtllm"])


def overhead_bytes(memory: RuntimeMemory, *, world_size: int, quantized_bytes: int) -> int:
    """Return what runtime, communication and kernels of quantized weights take on each GPU."""
    two, many = memory.communication_bytes
    communication = 0 if world_size == 1 else two if world_size == 2 else many
    workspace = round(memory.quantized_workspace * quantized_bytes)
    return memory.context_bytes + communication + workspace
