"""A tiny decoder that has learned something: what quantization costs shows in its figures.

It learns once a machine, as long as nothing of what it is made of has changed.
"""

import hashlib
import json
import shutil
import tempfile
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from transformers import AutoTokenizer, LlamaForCausalLM

from tests import migrated_postgres, tiny_checkpoint, tiny_families
from tests.tiny_checkpoint import write_tokenizer
from tests.tiny_families import FAMILIES

_TEXTS = Path(__file__).parents[1] / "workers/build_steps/calibration/general.jsonl"
_STEPS, _ROWS, _TOKENS = 120, 8, 64
_KEPT = migrated_postgres.KEPT.parent / "trained"
_MADE_OF = (__file__, tiny_checkpoint.__file__, tiny_families.__file__, _TEXTS)


def make_trained(folder: Path, **changes: Any) -> Path:
    """Fill `folder` with a Llama that has read the shipped texts twelve times, and give it back.

    Its config is changed as asked.
    """
    kept = _KEPT / _digest(changes)
    if not kept.is_dir():
        _keep(kept, changes)
    shutil.copytree(kept, folder, dirs_exist_ok=True)
    return folder


def _digest(changes: Mapping[str, Any]) -> str:
    content = b"".join(Path(each).read_bytes() for each in _MADE_OF)
    content += json.dumps(changes, sort_keys=True).encode()
    versions = f"{version('torch')} {version('transformers')}".encode()
    return hashlib.sha256(versions + content).hexdigest()[:16]


def _keep(kept: Path, changes: Mapping[str, Any]) -> None:
    """Train beside the others and take the place at once: who came first has made the same."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=kept.parent))
    made.chmod(0o755)
    _train(made, changes)
    try:
        made.rename(kept)
    except OSError:
        shutil.rmtree(made)


def _train(folder: Path, changes: Mapping[str, Any]) -> None:
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


def _rows(folder: Path) -> torch.Tensor:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    texts = [json.loads(line)["text"] for line in _TEXTS.read_text().splitlines()]
    return torch.tensor([tokenizer(text)["input_ids"][:_TOKENS] for text in texts])
