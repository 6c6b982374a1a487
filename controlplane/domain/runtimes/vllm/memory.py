"""What vLLM takes beside weights and KV cache, as it reported of itself: 0.25.1 on one H200.

Its KV cache is what its share of the GPU leaves; CUDA context and graphs lie outside. Beside
weights and planned activations it took 0.3 GiB with SmolLM2, 0.9 with Qwen3-8B. Checked 2026-11-28.
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from controlplane.domain.facts.gpus import GIB
from controlplane.domain.facts.precision_support import PrecisionSupport
from controlplane.domain.facts.quantization import FP8, NVFP4
from controlplane.domain.facts.vllm_number_types import NOT_IN_FLOAT16
from controlplane.domain.memory.runtime_memory import RuntimeMemory

MOST_OF_A_DEVICE = 0.95
"""What it is given at most: its CUDA context and graphs lie outside of its own share."""
EXPANDED_FP8_CAPABILITY = (8, 0)
"""It computes FP8 weights in 16 bits from here on; FP4 weights from compute capability 7.5."""
EXPANDED_FP4_CAPABILITY = (7, 5)
EXPANDED_STORED_FP8: Mapping[str, tuple[int, int]] = MappingProxyType(
    {"fp8": (7, 5), "compressed-tensors": (7, 5), "fbgemm_fp8": (8, 0)}
)
"""FP8 checkpoints of other tools than ModelOpt, which all versions known here expand.

Source: `get_min_capability` of each loader in 0.25.1 and 0.33.0, read 2026-11-30.
"""
MULTIPLIED_ON: Mapping[tuple[str, str], tuple[int, ...]] = MappingProxyType(
    {("INT8", "INT8"): (7, 8, 9), ("INT4", "FP8"): (9,), ("INT4", "INT8"): ()}
)
"""Weights and activations of compressed-tensors, and the major compute capabilities for both.

Source: `cutlass/c3x/scaled_mm_helper.hpp` (no INT8 from 10.0 on) and `is_supported` of the kernels
of `kernels/linear/mixed_precision`, where INT4 with INT8 is for CPUs, 2026-11-30; vllm#27182,
vllm#35439, llm-compressor#2693.
"""
MEMORY = RuntimeMemory(
    name="vllm",
    context_bytes=GIB,
    quantized_workspace=0.0,
    block_tokens=16,
    counts_engine_tables=True,
    most_of_device=MOST_OF_A_DEVICE,
    profiled_drafts=1,
    wants_whole_shares=True,
    widened=frozenset(NOT_IN_FLOAT16),
    precisions=PrecisionSupport(
        expanded_from=MappingProxyType({NVFP4.label: EXPANDED_FP4_CAPABILITY}),
        stored_from=EXPANDED_STORED_FP8,
        multiplied_on=MULTIPLIED_ON,
    ),
)
"""Of the version that we ran, which refuses ModelOpt's FP8 weights below compute capability 8.9."""
MEMORY_OF_NEWER = replace(
    MEMORY,
    precisions=replace(
        MEMORY.precisions,
        expanded_from=MappingProxyType(
            {NVFP4.label: EXPANDED_FP4_CAPABILITY, FP8.label: EXPANDED_FP8_CAPABILITY}
        ),
    ),
)
"""Of those that expand them."""
