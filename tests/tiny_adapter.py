"""A random LoRA adapter of the tiny checkpoint in PEFT's form, made without torch."""

import json
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from tests.tiny_checkpoint import HEAD_DIM, HEADS, HIDDEN, INTERMEDIATE, KV_HEADS, LAYERS

_PROJECTIONS = {
    "self_attn.q_proj": (HIDDEN, HEADS * HEAD_DIM),
    "self_attn.k_proj": (HIDDEN, KV_HEADS * HEAD_DIM),
    "self_attn.v_proj": (HIDDEN, KV_HEADS * HEAD_DIM),
    "self_attn.o_proj": (HEADS * HEAD_DIM, HIDDEN),
    "mlp.gate_proj": (HIDDEN, INTERMEDIATE),
    "mlp.up_proj": (HIDDEN, INTERMEDIATE),
    "mlp.down_proj": (INTERMEDIATE, HIDDEN),
}


def make_tiny_adapter(folder: Path, *, seed: int, rank: int = 4) -> Path:
    """Fill `folder` with an adapter that changes the tiny checkpoint's words; give it back."""
    folder.mkdir(parents=True, exist_ok=True)
    source = np.random.default_rng(seed)
    tensors = {}
    for layer in range(LAYERS):
        for name, (inputs, outputs) in _PROJECTIONS.items():
            key = f"base_model.model.model.layers.{layer}.{name}"
            for part, shape in (("A", (rank, inputs)), ("B", (outputs, rank))):
                values = source.normal(scale=0.08, size=shape).astype(np.float32)
                tensors[f"{key}.lora_{part}.weight"] = values
    save_file(tensors, folder / "adapter_model.safetensors", metadata={"format": "pt"})
    config = {
        "peft_type": "LORA", "task_type": "CAUSAL_LM", "r": rank, "lora_alpha": 4 * rank,
        "target_modules": sorted({name.rpartition(".")[2] for name in _PROJECTIONS}),
    }  # fmt: skip
    (folder / "adapter_config.json").write_text(json.dumps(config))
    return folder
