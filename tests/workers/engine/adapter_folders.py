"""Makes LoRA adapters with PEFT, and asks PEFT what a model says with one."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModelForCausalLM

EVERY_PROJECTION = (
    "q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj",
)  # fmt: skip


def make_adapter(checkpoint: Path, folder: Path, *, seed: int, **config: Any) -> Path:
    """Fill a folder with a random adapter that changes what the model says."""
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_pretrained(checkpoint, dtype=torch.float32)
    settings = {"r": 4, "lora_alpha": 16, "target_modules": list(EVERY_PROJECTION), **config}
    adapted = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM", **settings))
    for name, parameter in adapted.named_parameters():
        if "lora_" in name:
            torch.nn.init.normal_(parameter, std=0.08)
    adapted.save_pretrained(folder)
    return folder


def peft_greedy(
    checkpoint: Path, adapter: Path, prompt: Sequence[int], tokens: int, **how: Any
) -> list[int]:
    """Give back what `generate` continues a prompt with under PEFT."""
    # Eager: the other kernel of Transformers 5.17 leaves Gemma 2's soft cap out.
    model = AutoModelForCausalLM.from_pretrained(
        checkpoint, dtype=torch.float32, attn_implementation="eager"
    )
    adapted = PeftModel.from_pretrained(model, adapter)
    output = adapted.generate(
        input_ids=torch.tensor([list(prompt)]), max_new_tokens=tokens, do_sample=False,
        pad_token_id=0, **how,
    )  # fmt: skip
    return output[0, len(prompt) :].tolist()
