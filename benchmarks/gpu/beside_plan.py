"""The memory plan beside what an engine reported, in the form that `memory_plan.py` replays."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controlplane.domain.facts import checkpoints
from controlplane.domain.memory.plan import plan
from controlplane.domain.runtimes import RUNTIMES
from controlplane.domain.spec import parse_text


@dataclass(frozen=True, kw_only=True)
class Device:
    """A GPU as the memory plan wants it."""

    kind: str
    memory_bytes: int


def compared(
    device: Mapping[str, Any],
    text: str,
    checkpoint: Path,
    report: Mapping[str, Any],
    *,
    runtime: str = "vllm",
) -> dict[str, Any]:
    """Return the plan, the engine's report, and what the plan was made of."""
    spec = parse_text(text).spec
    assert spec is not None
    config = json.loads((checkpoint / "config.json").read_text())
    weights = sum(each.stat().st_size for each in checkpoint.glob("*.safetensors"))
    present = device_of(device)
    planned = plan(
        spec, checkpoints.read(config, weight_bytes=weights), present, RUNTIMES[runtime].memory
    )
    return {
        "config": {
            **spec.model_dump(mode="json", exclude_unset=True),
            "model_name": spec.model_name or checkpoint.name,
        },
        "checkpoint": config,
        "weight_bytes": weights,
        "runtime": runtime,
        "device": {"kind": present.kind, "memory_bytes": present.memory_bytes},
        "report": dict(report),
        "planned": {
            "weights_bytes": planned.weights_bytes,
            "kv_cache_bytes": planned.kv_cache_bytes,
            "kv_tokens": planned.kv_tokens,
            "activations_bytes": planned.activations_bytes,
            "overhead_bytes": planned.overhead_bytes,
        },
    }


def device_of(seen: Mapping[str, Any]) -> Device:
    """Return the GPU that the agent sees."""
    return Device(kind=seen["kind"], memory_bytes=int(seen["memory_bytes"]))
