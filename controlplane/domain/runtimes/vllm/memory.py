"""What vLLM takes beside weights and KV cache, as it reported of itself: 0.25.1 on one H200.

Its KV cache is what its share of the GPU leaves; CUDA context and graphs lie outside. Beside
weights and planned activations it took 0.3 GiB with SmolLM2, 0.9 with Qwen3-8B. Checked 2026-11-28.
"""

from types import MappingProxyType

from controlplane.domain.facts.gpus import GIB
from controlplane.domain.facts.precision_support import PrecisionSupport
from controlplane.domain.facts.quantization import NVFP4
from controlplane.domain.memory.runtime_memory import RuntimeMemory

MOST_OF_A_DEVICE = 0.95
"""What it is given at most: its CUDA context and graphs lie outside of its own share."""
EXPANDED_FP8_CAPABILITY = (8, 0)
"""It computes FP8 weights in 16 bits from here on; FP4 weights from compute capability 7.5."""
EXPANDED_FP4_CAPABILITY = (7, 5)
MEMORY = RuntimeMemory(
    name="vllm",
    context_bytes=GIB,
    quantized_workspace=0.0,
    block_tokens=16,
    counts_engine_tables=True,
    most_of_device=MOST_OF_A_DEVICE,
    profiled_drafts=1,
    # FP8 is not among them: the version that we ran refuses it there, as EH201 does for all.
    precisions=PrecisionSupport(
        expanded_from=MappingProxyType({NVFP4.label: EXPANDED_FP4_CAPABILITY}),
        quantizes_gemma=True,
    ),
)
