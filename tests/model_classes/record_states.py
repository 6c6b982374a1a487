"""Records what layers of fixed state keep of a request, by a forward pass on an empty device.

`python -m tests.model_classes.record_states` writes `tests/domain/data/state_sizes.jsonl`.
"""

import json
from collections.abc import Iterator
from typing import Any

import torch
import transformers
from transformers.models.auto import modeling_auto as auto
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from tests.model_classes.writing import ROOT, reduced

DATA = ROOT / "tests/domain/data/state_sizes.jsonl"
FAMILIES = (
    "bamba", "falcon_h1", "falcon_mamba", "granitemoehybrid", "jamba", "kimi_linear", "lfm2",
    "lfm2_moe", "mamba", "mamba2", "minimax", "nemotron_h", "olmo_hybrid", "qwen3_5_moe_text",
    "qwen3_5_text", "qwen3_next", "zamba", "zamba2",
)  # fmt: skip
_MIXED = {"num_hidden_layers": 4, "layer_types": ["conv", "full_attention"] * 2}
_STARTS: dict[str, dict[str, Any]] = {
    "bamba": {"attn_layer_indices": [3]},
    "granitemoehybrid": {"layer_types": ["mamba", "attention"] * 16},
    "lfm2": _MIXED,
    "lfm2_moe": _MIXED,
}


def main() -> None:
    with DATA.open("w") as out:
        for model_type in FAMILIES:
            out.write(json.dumps(_told(model_type), sort_keys=True, separators=(",", ":")) + "\n")


def _told(model_type: str) -> dict[str, Any]:
    named = auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES[model_type]
    name = named if isinstance(named, str) else named[0]
    line: dict[str, Any] = {"class": name, "model_type": model_type}
    try:
        config = CONFIG_MAPPING[model_type](**_STARTS.get(model_type, {}))
        config._attn_implementation = "eager"
        with torch.device("meta"):
            model = getattr(transformers, name)(config).to(torch.bfloat16).eval()
            tokens = torch.zeros((1, 16), dtype=torch.long)
            answer = model(input_ids=tokens, use_cache=True)
    except Exception as error:  # as many kinds as there are classes
        return {**line, "not_asked": f"{type(error).__name__}: {' '.join(str(error).split())}"[:90]}
    cache = next(
        outcome for key in ("past_key_values", "cache", "cache_params")
        if (outcome := getattr(answer, key, None)) is not None
    )  # fmt: skip
    kept = list(_kept(cache.layers))
    return {
        **line,
        "config": {**reduced(config.to_dict()), "architectures": [name]},
        "recurrent": sum(numbers for what, numbers in kept if what == "recurrent"),
        "convolution": sum(numbers for what, numbers in kept if what == "convolution"),
    }


def _kept(layers: Any) -> Iterator[tuple[str, int]]:
    """Yield the numbers of each state; of a convolution without the newest token's own."""
    for layer in layers:
        for key, what in (("recurrent_states", "recurrent"), ("conv_states", "convolution")):
            holding = getattr(layer, key, None)
            for state in holding.values() if isinstance(holding, dict) else (holding,):
                if isinstance(state, torch.Tensor):
                    width = state.shape[-1]
                    newest = state.numel() // width if what == "convolution" else 0
                    yield what, state.numel() - newest


if __name__ == "__main__":
    main()
