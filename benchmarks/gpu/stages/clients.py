"""Clients, unmodified, at one deployment under vLLM: tools, a strict schema and two LoRA adapters.

The model is SmolLM2, taught by `teaching.py` to call tools; the adapters are random.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.gpu.product import Missed, Show
from benchmarks.gpu.random_adapter import make_random_adapter
from benchmarks.gpu.stages import serving
from benchmarks.gpu.stages.building import told as told_of_build
from benchmarks.gpu.stages.one_batch import asked_at_once

NAME = "smollm2-clients"
ADAPTERS = ("first", "second")
_TAUGHT = "SmolLM2-135M-taught"
_CONFIG = f"""\
model_name: {NAME}
resources:
  accelerator: {{device}}
trt_llm:
  build:
    base_model: decoder
    checkpoint_repository: {{{{source: LOCAL, repo: {_TAUGHT}}}}}
    max_seq_len: 2048
    max_batch_size: 32
    quantization_type: no_quant
    lora_adapters:
      first: {{{{source: LOCAL, repo: adapter-first}}}}
      second: {{{{source: LOCAL, repo: adapter-second}}}}
    lora_configuration: {{{{max_lora_rank: 8}}}}
enginehouse:
  runtime: vllm
"""
SCRIPTS = Path(__file__).resolve().parents[3] / "tests/seeds/data"
_HOST = re.compile(r"https://model-xxxxxx\.api\.baseten\.co/environments/production(?=/sync)")
_SCRIPT_SECONDS = 90
_RUN = "import os, sys; exec(compile(sys.stdin.read(), sys.argv[1], 'exec'))"
"""One block of the pages leaves `import os` to the block above it."""


def clients(show: Show) -> dict[str, Any]:
    """The scripts of the pages with their host alone changed, then all kinds in one batch."""
    taught = _taught(show)
    folder = show.data / "checkpoints" / _TAUGHT
    text = _CONFIG.format(device=show.device["kind"])
    ended = show.built(NAME, text)
    seen: dict[str, Any] = {"taught": taught, **told_of_build(show, ended, text, folder)}
    seen["deployed"] = serving.deployed(show, NAME, ended)
    model = show.model(NAME)
    try:
        seen["models"] = [each.id for each in show.client(model).models.list().data]
        seen["scripts"] = [_ran(show, model, path) for path in sorted(SCRIPTS.glob("*.txt"))
                           if path.read_text().count("https://model-xxxxxx")]  # fmt: skip
        seen["completion"] = _completed(show, model)
        seen["one_batch"] = asked_at_once(show, model, ADAPTERS)
    finally:
        seen["engine_log"] = show.engine_log()[-200:]
        seen["taken_down"] = serving.taken_down(show, model)
    failed = [f"{each['script']} failed" for each in seen["scripts"] if each["status"]]
    if missed := [*failed, *seen["one_batch"]["missed"]]:
        raise Missed("; ".join(missed)[:300], seen)
    return seen


def _taught(show: Show) -> dict[str, Any]:
    """Make the checkpoint and its adapters, in a process that gives the GPU's memory back."""
    folder = show.data / "checkpoints" / _TAUGHT
    report = folder / "taught.json"
    if report.exists():
        return dict(json.loads(report.read_text()))
    device = os.environ.get("NATIVE_DEVICE", "cuda")
    steps = os.environ.get("TEACHING_STEPS", "160")
    words = [str(show.checkpoint), str(folder), "--device", device, "--steps", steps]
    ended = subprocess.run(
        [sys.executable, "-m", "benchmarks.gpu.teaching", *words],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if ended.returncode:
        raise Missed("the model was not taught", {"said": ended.stderr[-4000:]})
    for seed, name in enumerate(ADAPTERS):
        make_random_adapter(folder, folder.parent / f"adapter-{name}", seed=seed)
    show.free_device()
    result: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    report.write_text(json.dumps(result))
    return result


def _ran(show: Show, model: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Run one script of the pages as it is, at the environment's own address."""
    environment = show.base_url(model).removesuffix("/sync/v1")
    script, hosts = _HOST.subn(environment, path.read_text())
    if hosts != 1:
        raise Missed(f"{path.name} names {hosts} hosts", {})
    ran = subprocess.run(
        [sys.executable, "-c", _RUN, path.name],
        input=script, env={**os.environ, "BASETEN_API_KEY": show.api_key},
        capture_output=True, text=True, timeout=_SCRIPT_SECONDS, check=False,
    )  # fmt: skip
    return {"script": path.stem, "status": ran.returncode, "printed": ran.stdout[:3000],
            "errors": ran.stderr[-3000:] if ran.returncode else ""}  # fmt: skip


def _completed(show: Show, model: Mapping[str, Any]) -> dict[str, Any]:
    answer = show.client(model).completions.create(
        model="any", prompt="The capital of France is", max_tokens=8, temperature=0
    )
    return {"text": answer.choices[0].text, "finish_reason": answer.choices[0].finish_reason}
