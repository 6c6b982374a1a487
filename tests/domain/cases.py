"""Facts of public checkpoints and configs, put back into the form of the files they came from.

Sources: ai-dynamo/aiconfigurator, mlc-ai, basetenlabs/truss-examples and others, by id.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"
_CONFIG_KEYS = {
    "layers": "num_hidden_layers",
    "heads": "num_attention_heads",
    "kv_heads": "num_key_value_heads",
    "vocab": "vocab_size",
    "max_pos": "max_position_embeddings",
    "intermediate": "intermediate_size",
    "tie": "tie_word_embeddings",
    "experts": "num_local_experts",
    "experts_per_tok": "num_experts_per_tok",
    "moe_intermediate": "moe_intermediate_size",
}


def lines(name: str) -> list[dict[str, Any]]:
    """Return the objects of a file, one a line."""
    return [json.loads(line) for line in (DATA / name).read_text().splitlines()]


def as_config_json(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `config.json` that these facts were reduced from, as far as they go."""
    config = {_CONFIG_KEYS.get(key, key): value for key, value in facts.items()}
    if method := facts.get("quant_method"):
        config["quantization_config"] = {"quant_method": method}
    if facts.get("has_vision"):
        config["vision_config"] = {"hidden_size": 1}
    if facts.get("remote_code"):
        config["auto_map"] = {"AutoModel": "modeling.Model"}
    return config


def as_config_yaml(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `config.yaml` that these facts were reduced from, as far as they go."""
    build: dict[str, Any] = {
        "checkpoint_repository": {
            "source": facts.get("source", "HF"),
            "repo": facts.get("model_repo", "owner/name"),
            **({"revision": facts["revision"]} if "revision" in facts else {}),
        }
    }
    names = {
        "base_model": "base_model", "quantization": "quantization_type",
        "tp": "tensor_parallel_count", "num_builder_gpus": "num_builder_gpus",
        "max_seq_len": "max_seq_len", "max_batch_size": "max_batch_size",
        "max_num_tokens": "max_num_tokens", "max_beam_width": "max_beam_width",
        "plugins": "plugin_configuration",
    }  # fmt: skip
    build |= {name: facts[key] for key, name in names.items() if key in facts}
    calibration = {key: facts[key] for key in facts if key.startswith("calib_")}
    if calibration:
        build["quantization_config"] = calibration
    if "spec_mode" in facts:
        build["speculator"] = {"speculative_decoding_mode": facts["spec_mode"], **facts["spec"]}
    engine: dict[str, Any] = {"build": build}
    if "inference_stack" in facts:
        engine["inference_stack"] = facts["inference_stack"]
    if "runtime" in facts or "inference_stack" in facts:
        engine["runtime"] = facts.get("runtime", {})
    resources = {key: facts[key] for key in ("accelerator", "cpu", "memory") if key in facts}
    return {
        "model_name": facts.get("model_name"),
        "resources": resources,
        "secrets": dict.fromkeys(facts.get("secrets", [])),
        "model_metadata": {"tags": facts.get("tags", [])},
        "trt_llm": engine,
    }
