"""The native engine on CUDA in bfloat16, beside Transformers on the same GPU.

By itself: a vLLM that starts meanwhile refuses, once another process gives back memory of the GPU.
"""

import json
import os
import subprocess
import sys
import time
import urllib.request
from typing import Any

from benchmarks.gpu.beside_plan import compared
from benchmarks.gpu.native_on_cuda import PROMPTS, TOKENS, beside, reference
from benchmarks.gpu.product import Missed, Show
from benchmarks.gpu.stages.serving import streamed

NAME = "smollm2-native"
CONFIG = """\
model_name: {name}
resources:
  accelerator: {device}
trt_llm:
  build:
    base_model: decoder
    checkpoint_repository: {{source: LOCAL, repo: {folder}}}
    max_seq_len: 2048
  runtime:
    served_model_name: {name}
enginehouse:
  runtime: native
"""


def native(show: Show) -> dict[str, Any]:
    """Answers of both, and the engine's own tests for a GPU."""
    result = show.data / "native.json"
    command = [sys.executable, "-m", "benchmarks.gpu.native_on_cuda"]
    ended = subprocess.run(
        [*command, str(show.checkpoint), str(result)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if ended.returncode:
        raise Missed("the comparison ended without figures", {"said": ended.stdout[-6000:]})
    content: dict[str, Any] = json.loads(result.read_text())
    return content


def native_deploy(show: Show) -> dict[str, Any]:
    """The engine asked for by a config: built, served behind the gateway, beside Transformers."""
    # First, so that the GPU is clean when the product starts an engine there.
    expected = reference(show.checkpoint, os.environ.get("NATIVE_DEVICE", "cuda"))
    empty = show.free_device()
    text = CONFIG.format(name=NAME, device=show.device["kind"], folder=show.checkpoint.name)
    build = show.built(NAME, text)
    started = time.monotonic()
    model = show.job.deployed(name=NAME, build=build)
    show.made[f"model {NAME}"] = model
    seconds = round(time.monotonic() - started, 1)
    client = show.client(model)
    began = time.perf_counter()
    rows = beside([_asked(client, prompt) for prompt in PROMPTS], expected)
    asking = time.perf_counter() - began
    report = json.loads(_page(f"{show.engine()['url']}/info"))
    taken = show.device["used_bytes"] - empty["used_bytes"]
    memory = compared(show.device, text, show.checkpoint, report, runtime="native")
    values = {
        "seconds_to_active": seconds,
        "rows": rows,
        "identical": sum(row["same"] for row in rows),
        "of": len(rows),
        "tokens_per_second_one_stream": round(TOKENS * len(PROMPTS) / asking, 1),
        "streamed": streamed(client),
        "smoke_test": {each["name"]: each["result"] for each in build["steps"]}.get("smoke_test"),
        "memory": memory | {"taken_of_the_device_bytes": taken},
        "device_while_it_served": dict(show.device),
        "replicas": show.replicas(model),
        "metrics": _page(f"{show.engine()['url']}/metrics").splitlines(),
    }
    path = f"models/{model['id']}/deployments/{model['deployment']['id']}"
    show.job._post(f"{path}/deactivate", {})
    show.free_device()
    return values | {"device_free_after_deactivation": True}


def _page(url: str) -> str:
    with urllib.request.urlopen(url, timeout=10) as answer:
        return str(answer.read().decode())


def _asked(client: Any, prompt: str) -> str:
    answer = client.completions.create(model="any", prompt=prompt, max_tokens=TOKENS, temperature=0)
    return str(answer.choices[0].text)
