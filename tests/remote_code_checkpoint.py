"""A tiny checkpoint whose class exists only as Python inside it, which notes that it was run."""

import json
from pathlib import Path

from tests.tiny_checkpoint import make_tiny_checkpoint

AUTO_MAP = {
    "AutoConfig": "configuration_own.OwnConfig",
    "AutoModelForCausalLM": "modeling_own.OwnForCausalLM",
}
_CONFIGURATION = """
import os
from pathlib import Path

from transformers import LlamaConfig

with Path({marker!r}).open("a") as file:
    file.write(f"{{os.getpid()}}\\n")


class OwnConfig(LlamaConfig):
    model_type = "own_llama"
"""
_MODELING = """
from transformers import LlamaForCausalLM

from .configuration_own import OwnConfig


class OwnForCausalLM(LlamaForCausalLM):
    config_class = OwnConfig
"""


def make_remote_code_checkpoint(folder: Path, marker: Path) -> Path:
    """Fill `folder`; whoever runs its code adds its process id to `marker`."""
    make_tiny_checkpoint(folder)
    config = json.loads((folder / "config.json").read_bytes())
    own = {"architectures": ["OwnForCausalLM"], "model_type": "own_llama", "auto_map": AUTO_MAP}
    (folder / "config.json").write_text(json.dumps({**config, **own}))
    (folder / "configuration_own.py").write_text(_CONFIGURATION.format(marker=str(marker)))
    (folder / "modeling_own.py").write_text(_MODELING)
    return folder


def ran_in(marker: Path) -> list[int]:
    """Return the processes that ran the code, in order."""
    return [int(line) for line in marker.read_text().split()] if marker.exists() else []
