"""`speculative_config` as TensorRT-LLM has it -> `--speculative-config`.

Source: vLLM 0.25 to 0.33 `config/speculative.py`, checked 2026-11-28.
"""

import json
from collections.abc import Mapping
from typing import Any

_MODEL_NAMES = ("speculative_model_dir", "speculative_model", "speculative_model_path")
_WITH_A_MODEL = {
    "eagle": "eagle3", "eagle3": "eagle3", "draft_target": "draft_model",
    "drafttarget": "draft_model",
}  # fmt: skip
"""TensorRT-LLM's PyTorch backend reads `Eagle` as Eagle 3, so it is that here too."""
_FROM_TEXT = frozenset({"ngram", "sa"})
_DEFAULT_NGRAM = 2


def draft_words(given: Mapping[str, Any]) -> tuple[str, ...] | None:
    content = _content(given, str(given.get("decoding_type", "")).lower())
    return None if content is None else ("--speculative-config", json.dumps(content))


def _content(given: Mapping[str, Any], kind: str) -> dict[str, Any] | None:
    length = given.get("max_draft_len")
    if kind == "mtp":
        layers = given.get("num_nextn_predict_layers") or length or 1
        return {"method": "mtp", "num_speculative_tokens": layers}
    if not isinstance(length, int) or isinstance(length, bool) or length < 1:
        return None
    if kind in _FROM_TEXT:
        size = given.get("max_matching_ngram_size")
        size = size if isinstance(size, int) and size > 0 else max(_DEFAULT_NGRAM, length)
        return {
            "method": "ngram",
            "num_speculative_tokens": length,
            "prompt_lookup_max": size,
            "prompt_lookup_min": min(_DEFAULT_NGRAM, size),
        }
    model = next((given[name] for name in _MODEL_NAMES if given.get(name)), None)
    if kind in _WITH_A_MODEL and model:
        method = _WITH_A_MODEL[kind]
        return {"method": method, "model": model, "num_speculative_tokens": length}
    return None


WITHOUT_PREDICTION = frozenset(
    {
        "cohere2", "gemma2", "gemma3", "gemma3_text", "gpt_oss", "granite", "llama", "mistral",
        "mixtral", "olmo2", "phi3", "qwen2", "qwen2_5_vl", "qwen2_moe", "qwen3", "qwen3_moe",
    }
)  # fmt: skip
"""Types of models that vLLM has no prediction layers of, whatever a config.json counts.
Source: `hf_config_override` of `config/speculative.py`, 0.25.1 to 0.33.0, 2026-11-30."""
