"""SmolLM2 in three precisions, built on the GPU; the memory plan beside the engine's report."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from benchmarks.gpu.beside_plan import compared
from benchmarks.gpu.product import Show, samples

CONFIG = """\
model_name: {name}
resources:
  accelerator: {device}
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
  calibration: {{samples: {samples}}}
"""
SERVED = "fp8_kv"
SERVED_NAME = "smollm2-fp8-kv"


def build(show: Show) -> dict[str, Any]:
    """SmolLM2 calibrated on the GPU to FP8 with FP8 KV, gated, packaged, asked once."""
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
        device=show.device["kind"],
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
        "seconds": {each["name"]: _seconds(each) for each in ended["steps"]},
        "steps": [{key: each.get(key) for key in ("name", "state", "started_at", "finished_at")}
                  for each in ended["steps"]],
        "calibrate": results.get("calibrate"),
        "gate": results.get("gate"),
        "package": results.get("package"),
        "smoke_test": smoke,
        "memory": compared(show.device, text, checkpoint, smoke.get("engine") or {}),
        "log": show.log_of(ended),
    }  # fmt: skip


def _seconds(step: dict[str, Any]) -> float | None:
    if step["finished_at"] is None:
        return None
    started, finished = (
        datetime.fromisoformat(step[f"{end}_at"]) for end in ("started", "finished")
    )
    return round((finished - started).total_seconds(), 1)
