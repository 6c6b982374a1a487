"""SmolLM2 in three precisions, built on the card; the memory plan beside the engine's report."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.gpu.product import Show, samples
from controlplane.domain.facts import checkpoints
from controlplane.domain.memory.plan import plan
from controlplane.domain.spec import parse_text

CONFIG = """\
model_name: {name}
resources:
  accelerator: {card}
trt_llm:
  build:
    base_model: decoder
    checkpoint_repository: {{source: LOCAL, repo: {folder}}}
    max_seq_len: {length}
    max_batch_size: 64
    quantization_type: {quantization}
    quantization_config: {{calib_dataset: enginehouse/general, calib_max_seq_length: 512}}
  runtime:
    served_model_name: {name}
enginehouse:
  runtime: vllm
  calibration: {{samples: {samples}}}
"""
SERVED = "fp8_kv"
SERVED_NAME = "smollm2-fp8-kv"


@dataclass(frozen=True, kw_only=True)
class Card:
    """A card as the memory plan wants it."""

    kind: str
    memory_bytes: int


def build(show: Show) -> dict[str, Any]:
    """SmolLM2 calibrated on the card to FP8 with FP8 KV, gated, packaged, asked once."""
    text = small_config(show, SERVED)
    ended = show.built(SERVED_NAME, text)
    return told(show, ended, text, show.checkpoint)


def no_quant(show: Show) -> dict[str, Any]:
    """The same in bfloat16, for the memory plan."""
    text = small_config(show, "no_quant")
    ended = show.built("smollm2-no-quant", text)
    return told(show, ended, text, show.checkpoint)


def small_config(show: Show, quantization: str) -> str:
    return CONFIG.format(
        name=f"smollm2-{quantization.replace('_', '-')}",
        card=show.card["kind"],
        folder=show.checkpoint.name,
        length=2048,
        quantization=quantization,
        samples=samples(),
    )


def told(show: Show, ended: Mapping[str, Any], text: str, checkpoint: Path) -> dict[str, Any]:
    """Return what the steps of a build told, and the plan beside what the engine reported."""
    results = {each["name"]: each["result"] for each in ended["steps"]}
    smoke = results.get("smoke_test") or {}
    return {
        "config_text": text,
        "seconds": {each["name"]: each.get("seconds") for each in ended["steps"]},
        "steps": [{key: each.get(key) for key in ("name", "state", "started_at", "finished_at")}
                  for each in ended["steps"]],
        "calibrate": results.get("calibrate"),
        "gate": results.get("gate"),
        "package": results.get("package"),
        "smoke_test": smoke,
        "memory": compared(show.card, text, checkpoint, smoke.get("engine") or {}),
        "log": show.log_of(ended),
    }  # fmt: skip


def compared(
    card: Mapping[str, Any],
    text: str,
    checkpoint: Path,
    report: Mapping[str, Any],
    *,
    runtime: str = "vllm",
) -> dict[str, Any]:
    """Return the plan beside the engine's report, in the form that `memory_plan.py` replays."""
    spec = parse_text(text).spec
    assert spec is not None
    config = json.loads((checkpoint / "config.json").read_text())
    weights = sum(each.stat().st_size for each in checkpoint.glob("*.safetensors"))
    present = card_of(card)
    planned = plan(spec, checkpoints.read(config, weight_bytes=weights), present, runtime)
    return {
        "config": spec.model_dump(mode="json", exclude_unset=True),
        "checkpoint": config,
        "weight_bytes": weights,
        "runtime": runtime,
        "card": {"kind": present.kind, "memory_bytes": present.memory_bytes},
        "report": dict(report),
        "planned": {
            "weights_bytes": planned.weights_bytes,
            "kv_cache_bytes": planned.kv_cache_bytes,
            "kv_tokens": planned.kv_tokens,
            "activations_bytes": planned.activations_bytes,
            "overhead_bytes": planned.overhead_bytes,
        },
    }


def card_of(seen: Mapping[str, Any]) -> Card:
    """Return the card that the agent sees."""
    return Card(kind=seen["kind"], memory_bytes=int(seen["memory_bytes"]))
