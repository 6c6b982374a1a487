"""A tiny decoder that has learned something: what quantization costs shows in its figures."""

import json
from pathlib import Path
from typing import Any

import torch
from transformers import AutoTokenizer, LlamaForCausalLM

from tests.tiny_checkpoint import write_tokenizer
from tests.tiny_families import FAMILIES

_TEXTS = Path(__file__).parents[1] / "workers/build_steps/calibration/general.jsonl"
_STEPS, _ROWS, _TOKENS = 120, 8, 64


def make_trained(folder: Path, **changes: Any) -> Path:
    """Fill `folder` with a Llama that has read the shipped texts twelve times, and give it back.

    Its config is changed as asked.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write_tokenizer(folder)
    rows = _rows(folder)
    torch.manual_seed(0)
    config = FAMILIES["llama"].config()
    for setting, value in changes.items():
        setattr(config, setting, value)
    model = LlamaForCausalLM(config)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(_STEPS):
        chosen = rows[torch.arange(step * _ROWS, (step + 1) * _ROWS) % len(rows)]
        optimizer.zero_grad()
        model(input_ids=chosen, labels=chosen).loss.backward()
        optimizer.step()
    model.to(torch.bfloat16).save_pretrained(folder)
    return folder


def _rows(folder: Path) -> torch.Tensor:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    texts = [json.loads(line)["text"] for line in _TEXTS.read_text().splitlines()]
    return torch.tensor([tokenizer(text)["input_ids"][:_TOKENS] for text in texts])
