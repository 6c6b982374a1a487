"""What TensorRT-LLM takes beside weights and KV cache.

Fitted to 72 recorded runs (H100 and GB300; Llama-3.1-8B in 16 bits, Qwen3-32B in block-scaled FP8;
1, 2 and 4 ranks): all 72 are met within 2 % and none is exceeded. In-sample; other GPUs and models
are estimates. Checked 2026-11-28.
"""

from types import MappingProxyType

from controlplane.domain.facts.architectures import GEMMA_MODEL_TYPES
from controlplane.domain.facts.precision_support import PrecisionSupport
from controlplane.domain.facts.quantization import FP8, INT4_AWQ, INT4_AWQ_FP8, NVFP4
from controlplane.domain.memory.runtime_memory import RuntimeMemory

_PACKED = "builds write INT4 as compressed-tensors packs it, which this engine does not load"
MEMORY = RuntimeMemory(
    name="trtllm",
    measured=True,
    # Its matrix of models and formats, 1.2.1: of Gemma FP8 for Gemma 3 alone.
    precisions=PrecisionSupport(
        unquantized=MappingProxyType(
            {
                FP8.label: GEMMA_MODEL_TYPES - {"gemma3", "gemma3_text"},
                NVFP4.label: GEMMA_MODEL_TYPES,
            }
        ),
        unread=MappingProxyType({INT4_AWQ.label: _PACKED, INT4_AWQ_FP8.label: _PACKED}),
    ),
)
