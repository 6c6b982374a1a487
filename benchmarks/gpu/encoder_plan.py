"""What is planned of an encoder on the GPU that it is measured on, and the memory that it holds."""

import json
import subprocess
from pathlib import Path
from typing import Any

from benchmarks.gpu.beside_plan import Device
from controlplane.domain.facts import checkpoints
from controlplane.domain.memory.plan import plan
from controlplane.domain.runtimes import RUNTIMES
from controlplane.domain.spec import parse_mapping

_MIB = 2**20


def planned(checkpoint: Path, kind: str, base_model: str) -> dict[str, Any]:
    """Return the plan's figures under the native engine, texts of 150 tokens."""
    build = {
        "base_model": base_model,
        "checkpoint_repository": {"source": "LOCAL", "repo": str(checkpoint)},
    }
    parsed = parse_mapping({"trt_llm": {"build": build}, "resources": {"accelerator": kind}})
    assert parsed.spec is not None, parsed.errors
    config = json.loads((checkpoint / "config.json").read_text())
    weights = sum(each.stat().st_size for each in checkpoint.glob("*.safetensors"))
    facts = checkpoints.read(config, weight_bytes=weights)
    device = Device(kind=kind, memory_bytes=_queried("memory.total"))
    outcome = plan(parsed.spec, facts, device, RUNTIMES["native"].memory)
    speed = outcome.encoder_speed
    return {
        "weights_bytes": outcome.weights_bytes,
        "activations_bytes": outcome.activations_bytes,
        "overhead_bytes": outcome.overhead_bytes,
        **(speed.to_json() if speed else {}),
    }


def memory_bytes() -> int:
    """Return what all processes hold on the GPU, the driver's part with it."""
    return _queried("memory.used")


def _queried(what: str) -> int:
    requests = ["nvidia-smi", f"--query-gpu={what}", "--format=csv,noheader,nounits"]
    stdout = subprocess.run(requests, capture_output=True, text=True, check=True).stdout
    return int(stdout.splitlines()[0]) * _MIB
