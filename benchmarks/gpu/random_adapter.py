"""A random LoRA adapter of a Llama-shaped checkpoint, in PEFT's form, made without torch."""

import json
from pathlib import Path
from typing import Any

RANK = 8
SCALE = 0.02
"""Of the random numbers: the answers are others, and still words."""


def make_random_adapter(model: Path, folder: Path, *, seed: int) -> Path:
    """Fill `folder` with an adapter of every projection of the attention; give it back."""
    import numpy as np
    from safetensors.numpy import save_file

    folder.mkdir(parents=True, exist_ok=True)
    config = json.loads((model / "config.json").read_text())
    source = np.random.default_rng(seed)
    shapes = _shapes(config)
    tensors = {
        f"base_model.model.model.layers.{layer}.self_attn.{name}.lora_{part}.weight":
            source.normal(scale=SCALE, size=shape).astype(np.float32)
        for layer in range(config["num_hidden_layers"])
        for name, (inputs, outputs) in shapes.items()
        for part, shape in (("A", (RANK, inputs)), ("B", (outputs, RANK)))
    }  # fmt: skip
    save_file(tensors, folder / "adapter_model.safetensors", metadata={"format": "pt"})
    values = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "r": RANK, "lora_alpha": 16 * RANK,
            "target_modules": sorted(shapes)}  # fmt: skip
    (folder / "adapter_config.json").write_text(json.dumps(values))
    return folder


def _shapes(config: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """Return how many numbers go into each projection and come out of it."""
    hidden, heads = config["hidden_size"], config["num_attention_heads"]
    size = config.get("head_dim") or hidden // heads
    keys = size * config["num_key_value_heads"]
    return {"q_proj": (hidden, size * heads), "k_proj": (hidden, keys),
            "v_proj": (hidden, keys), "o_proj": (size * heads, hidden)}  # fmt: skip
