"""Which classes of TensorRT-LLM's PyTorch backend take a drafter.

Source: the class that each is made from in `tensorrt_llm/_torch/models/` (one made from
`SpecDecOneEngineForCausalLM` takes a drafter, one from `DecoderModelForCausalLM` has no place for
it), and the columns "MTP" and "EAGLE-3" of "Model-Feature Support Matrix (Key Models)" in its
documentation, 1.2 and the 1.3 line; checked 2026-11-30. Nothing is known of others.
"""

from collections.abc import Mapping
from types import MappingProxyType

WITHOUT_DRAFTER = frozenset(
    {
        "DeciLMForCausalLM", "Gemma3ForCausalLM", "Gemma3ForConditionalGeneration",
        "MixtralForCausalLM", "NemotronNASForCausalLM", "Phi3ForCausalLM",
    }
)  # fmt: skip
"""Made without a place for a drafter of any kind inside the engine."""
_NOT_BY_ITS_MATRIX: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "Eagle3": frozenset(
            {
                "DeepseekV32ForCausalLM", "DeepseekV4ForCausalLM", "Gemma4ForConditionalGeneration",
                "Gemma4UnifiedForConditionalGeneration", "Glm4MoeForCausalLM",
                "MiniMaxM3SparseForConditionalGeneration", "NemotronHForCausalLM",
                "Qwen3NextForCausalLM", "Qwen3_5MoeForCausalLM", "Step3p7ForConditionalGeneration",
            }
        ),
        "MTP": frozenset(
            {
                "GptOssForCausalLM", "Llama4ForConditionalGeneration",
                "MiniMaxM3SparseForConditionalGeneration", "Qwen3MoeForCausalLM",
                "Qwen3NextForCausalLM",
            }
        ),
    }
)  # fmt: skip
"""Kind of drafting -> the classes whose row says No."""
INSIDE_THE_ENGINE = frozenset({"Eagle", "Eagle3", "MTP", "Draft_Target", "PARD"})


def is_not_listed(kind: str | None, architecture: str | None) -> bool:
    return architecture in _NOT_BY_ITS_MATRIX.get(kind or "", ())
