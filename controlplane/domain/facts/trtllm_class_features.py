"""What TensorRT-LLM's own matrix of models says of chunked prefill, KV reuse and schemas, by class.

Source: "Model-Feature Support Matrix (Key Models)" of its documentation, 1.2 and the 1.3 line,
checked 2026-11-30. It says nothing of other classes, and "Untested" is None here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, kw_only=True)
class ClassFeatures:
    """A row of the matrix: Yes, No, or None where it says that nobody tried."""

    chunked_prefill: bool | None = True
    cache_reuse: bool | None = True
    schemas: bool | None = True
    drafters: tuple[str, ...] = ()
    """Kinds of drafting that it says Yes to."""


_ROWS: Mapping[str, ClassFeatures] = MappingProxyType(
    {
        "DeepseekV32ForCausalLM": ClassFeatures(drafters=("MTP",)),
        "DeepseekV3ForCausalLM": ClassFeatures(drafters=("MTP",)),
        "DeepseekV4ForCausalLM": ClassFeatures(cache_reuse=None, schemas=None, drafters=("MTP",)),
        "Gemma4ForConditionalGeneration": ClassFeatures(
            cache_reuse=False, schemas=None, drafters=("MTP",)
        ),
        "Gemma4UnifiedForConditionalGeneration": ClassFeatures(cache_reuse=False, schemas=None),
        "Glm4MoeForCausalLM": ClassFeatures(cache_reuse=None, drafters=("MTP",)),
        "GptOssForCausalLM": ClassFeatures(drafters=("Eagle3",)),
        "Llama4ForConditionalGeneration": ClassFeatures(cache_reuse=None, drafters=("Eagle3",)),
        "MiniMaxM3SparseForConditionalGeneration": ClassFeatures(
            chunked_prefill=None, cache_reuse=False, schemas=None
        ),
        "NemotronHForCausalLM": ClassFeatures(schemas=None, drafters=("MTP",)),
        "Qwen3MoeForCausalLM": ClassFeatures(drafters=("Eagle3",)),
        "Qwen3NextForCausalLM": ClassFeatures(cache_reuse=False, schemas=None),
        "Qwen3_5MoeForCausalLM": ClassFeatures(schemas=None, drafters=("MTP",)),
        "Step3p7ForConditionalGeneration": ClassFeatures(
            chunked_prefill=None, cache_reuse=None, schemas=None, drafters=("MTP",)
        ),
    }
)
CLASSES_WITH_A_ROW = tuple(sorted(_ROWS))


def features_of(architecture: str | None) -> ClassFeatures | None:
    return _ROWS.get(architecture or "")
