"""What is shown on a card, one function a stage."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import openai

from apps.dashboard.demo.access import grant_access
from apps.dashboard.demo.checkpoint import ensure_checkpoint
from apps.dashboard.demo.job import Job
from apps.dashboard.demo.machine import running_machine
from apps.dashboard.demo.question import endpoint
from apps.dashboard.demo.voice import Voice
from benchmarks.gpu import native_on_cuda
from benchmarks.gpu.load import tokens_per_second
from controlplane.domain.facts import checkpoints
from controlplane.domain.memory.plan import plan
from controlplane.domain.runtimes import RUNTIMES
from controlplane.domain.spec import parse_text

CARD = os.environ.get("CARD_KIND", "H100")
SAMPLES = int(os.environ.get("CALIBRATION_SAMPLES", "64"))
CONFIG = """\
model_name: smollm2-{name}
resources:
  accelerator: {card}
trt_llm:
  build:
    base_model: decoder
    checkpoint_repository: {{source: LOCAL, repo: smollm2-135m-instruct}}
    max_seq_len: 2048
    max_batch_size: 64
    quantization_type: {quantization}
    quantization_config: {{calib_dataset: enginehouse/general, calib_max_seq_length: 512}}
  runtime:
    served_model_name: smollm2-{name}
enginehouse:
  runtime: vllm
  calibration: {{samples: {samples}}}
"""
SERVED = "fp8_kv"
_SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 20}, "people": {"type": "integer"}},
    "required": ["city", "people"],
    "additionalProperties": False,
}


@dataclass(kw_only=True)
class Show:
    """The product, running; what earlier stages made is found again by its name."""

    data: Path
    job: Job
    api_key: str
    gateway_url: str
    checkpoint: Path
    made: dict[str, Any] = field(default_factory=dict)

    @property
    def base_url(self) -> str:
        return endpoint(gateway_url=self.gateway_url, model_id=self.model["id"])

    @property
    def model(self) -> Mapping[str, Any]:
        model: Mapping[str, Any] = self.made["model"]
        return model

    def client(self) -> openai.OpenAI:
        local = httpx2.Client(trust_env=False, timeout=120)
        return openai.OpenAI(base_url=self.base_url, api_key=self.api_key, http_client=local)

    def engine(self) -> str:
        """The address of the engine that serves now, as its runner wrote it."""
        live = [
            each
            for each in (self.data / "agent/replicas").glob("*/engine.json")
            if not (each.parent / "exit.json").exists()
        ]
        record = json.loads(max(live, key=lambda each: each.stat().st_mtime).read_text())
        self.made["engine_pid"] = record["pid"]
        return f"http://{record['host']}:{record['port']}"

    def deployment(self) -> Mapping[str, Any]:
        path = f"models/{self.model['id']}/deployments/{self.model['deployment']['id']}"
        return self.job._get(path)


@contextmanager
def open_show(data: Path) -> Iterator[Show]:
    """Start the product on `data` with SmolLM2 as its local checkpoint."""
    voice = Voice()
    checkpoint = ensure_checkpoint(data, voice)
    with running_machine(data) as machine:
        services = machine.wait_until_ready()
        access = grant_access(data)
        with Job(
            public_url=services.public_url,
            api_key=access.api_key,
            voice=voice,
            watch=machine.check_alive,
        ) as job:
            yield Show(
                data=data,
                job=job,
                api_key=access.api_key,
                gateway_url=services.gateway_url,
                checkpoint=checkpoint,
            )


def _built(show: Show, quantization: str) -> dict[str, Any]:
    name = quantization.replace("_", "-")
    text = CONFIG.format(name=name, card=CARD, quantization=quantization, samples=SAMPLES)
    config = show.job.config(f"smollm2-{name}", text)
    show.job.wait_until_checked(text)
    build = show.job.build(config)
    show.made[quantization] = build
    results = {each["name"]: each["result"] for each in build["steps"]}
    smoke = results["smoke_test"]
    return {
        "config": text,
        "calibrate": results["calibrate"],
        "gate": results["gate"],
        "smoke_test": smoke,
        "memory": _compared(show, text, smoke.get("engine") or {}),
    }


def _compared(show: Show, text: str, report: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plan beside the engine's report, in the form that `memory_plan.py` replays."""
    spec = parse_text(text).spec
    assert spec is not None
    config = json.loads((show.checkpoint / "config.json").read_text())
    weights = (show.checkpoint / "model.safetensors").stat().st_size
    card = _Card(kind=CARD, memory_bytes=_card_bytes())
    planned = plan(spec, checkpoints.read(config, weight_bytes=weights), card, "vllm")
    return {
        "config": spec.model_dump(mode="json", exclude_unset=True),
        "checkpoint": config,
        "weight_bytes": weights,
        "runtime": "vllm",
        "card": {"kind": card.kind, "memory_bytes": card.memory_bytes},
        "report": dict(report),
        "planned": {
            "weights_bytes": planned.weights_bytes,
            "kv_cache_bytes": planned.kv_cache_bytes,
            "kv_tokens": planned.kv_tokens,
            "activations_bytes": planned.activations_bytes,
            "overhead_bytes": planned.overhead_bytes,
        },
    }


@dataclass(frozen=True, kw_only=True)
class _Card:
    kind: str
    memory_bytes: int


def _card_bytes() -> int:
    from workers.agent import nvidia

    return int(nvidia.cards()[0]["memory_bytes"])


def build(show: Show) -> dict[str, Any]:
    """SmolLM2 calibrated on the card to FP8 with FP8 KV, gated, packaged, asked once."""
    return _built(show, SERVED)


def deploy(show: Show) -> dict[str, Any]:
    """The artifact served by vLLM behind the gateway."""
    started = time.monotonic()
    show.made["model"] = show.job.deployed(name="smollm2", build=show.made[SERVED])
    return {
        "seconds": round(time.monotonic() - started, 1),
        "deployment": show.deployment(),
        "report": RUNTIMES["vllm"].metrics.read(_page(f"{show.engine()}/metrics")),
    }


def ask(show: Show) -> dict[str, Any]:
    """The `openai` client: streamed chat, JSON schema, and a cancel that reaches the engine."""
    client = show.client()
    return {
        "streamed": _streamed(client),
        "json_schema": _structured(client),
        "cancel": _cancelled(show, client),
    }


def _streamed(client: openai.OpenAI) -> dict[str, Any]:
    started, first, pieces = time.monotonic(), 0.0, []
    for chunk in client.chat.completions.create(
        model="any", max_tokens=64, temperature=0, stream=True,
        messages=[{"role": "user", "content": "What is the capital of France?"}],
    ):  # fmt: skip
        if chunk.choices and (piece := chunk.choices[0].delta.content):
            first = first or time.monotonic() - started
            pieces.append(piece)
    if not pieces:
        raise RuntimeError("the stream held no word")
    return {
        "answer": "".join(pieces),
        "pieces": len(pieces),
        "first_piece_seconds": round(first, 4),
    }


def _structured(client: openai.OpenAI) -> dict[str, Any]:
    answer = client.chat.completions.create(
        model="any", max_tokens=128, temperature=0,
        messages=[{"role": "user", "content": "Paris and how many people live there, as JSON."}],
        response_format={"type": "json_schema",
                         "json_schema": {"name": "city", "schema": _SCHEMA, "strict": True}},
    )  # fmt: skip
    text = answer.choices[0].message.content or ""
    content = json.loads(text)
    is_right = set(content) == {"city", "people"} and isinstance(content["people"], int)
    return {"text": text, "holds_the_schema": is_right}


def _cancelled(show: Show, client: openai.OpenAI) -> dict[str, Any]:
    """Return how soon after the client hung up the engine ran nothing any more."""
    before = _engine_metrics(show)
    stream = client.chat.completions.create(
        model="any", max_tokens=1900, temperature=0, stream=True, extra_body={"ignore_eos": True},
        messages=[{"role": "user", "content": "Count to ten thousand."}],
    )  # fmt: skip
    next(iter(stream))
    running = _until(lambda: _engine_metrics(show)["requests_running"] >= 1, 5)
    stream.close()
    left = time.monotonic()
    idle = _until(lambda: _engine_metrics(show)["requests_running"] == 0, 10)
    after = _engine_metrics(show)
    return {
        "seen_running": running,
        "idle_after_hanging_up": idle,
        "seconds_until_idle": round(time.monotonic() - left, 3),
        "tokens_made_of_1900": after["completion_tokens_total"] - before["completion_tokens_total"],
    }


def speed(show: Show) -> dict[str, Any]:
    """Tokens per second at 1, 8 and 64 streams: through the gateway, and at the same engine."""
    ours = {"Authorization": f"Bearer {show.api_key}"}
    gateway, engine = show.base_url, f"{show.engine()}/v1"
    name = json.loads(_page(f"{engine}/models"))["data"][0]["id"]
    rows = []
    for streams in (1, 8, 64):
        turns = [
            {"gateway": tokens_per_second(gateway, headers=ours, model=name, streams=streams,
                                          tokens=512),
             "alone": tokens_per_second(engine, headers={}, model=name, streams=streams,
                                        tokens=512)}
            for _ in range(4)
        ][1:]  # fmt: skip
        best = {
            way: max(turn[way]["tokens_per_second"] for turn in turns)
            for way in ("gateway", "alone")
        }
        rows.append(
            {
                "streams": streams,
                **best,
                "cost_percent": round(100 * (1 - best["gateway"] / best["alone"]), 2),
                "turns": turns,
            }
        )
    return {
        "model": "SmolLM2-135M-Instruct in FP8 with FP8 KV: so small that each token costs the "
        "card little, and whatever stands around it much",
        "rows": rows,
    }


def kill(show: Show) -> dict[str, Any]:
    """The engine killed while a stranger takes the card: told with its cause, and recovered."""
    show.engine()
    stranger = subprocess.Popen(
        [sys.executable, "-c", _STRANGER], stdout=subprocess.PIPE, text=True
    )
    assert stranger.stdout is not None
    try:
        stranger.stdout.readline()
        started = time.monotonic()
        os.kill(show.made["engine_pid"], signal.SIGKILL)
        told = _until_value(lambda: _unwell(show.deployment()), 20)
        seconds = round(time.monotonic() - started, 2)
        time.sleep(15)
        blocked = show.deployment()
    finally:
        stranger.kill()
        stranger.wait()
    freed = time.monotonic()
    recovered = _until(lambda: _serves(show), 240)
    return {
        "told": told,
        "seconds_until_told": seconds,
        "while_the_stranger_held_the_card": blocked,
        "recovered": recovered,
        "seconds_from_free_card_to_answer": round(time.monotonic() - freed, 1),
        "after": show.deployment(),
    }


_STRANGER = (
    "import time\n"
    "try:\n import torch; held = torch.empty(2**30, dtype=torch.uint8, device='cuda')\n"
    "except Exception as error:\n print(error, flush=True)\n"
    "print('held', flush=True); time.sleep(300)"
)


def no_quant(show: Show) -> dict[str, Any]:
    """The same in bfloat16, for the memory plan."""
    return _built(show, "no_quant")


def fp8(show: Show) -> dict[str, Any]:
    """The same in FP8 with a 16-bit KV cache, for the memory plan."""
    return _built(show, "fp8")


def native(show: Show) -> dict[str, Any]:
    """The native engine on CUDA in bfloat16 against Transformers' own answers."""
    return native_on_cuda.compare(show.checkpoint)


def _unwell(deployment: Mapping[str, Any]) -> Mapping[str, Any] | None:
    return deployment if deployment["active_replica_count"] == 0 else None


def _serves(show: Show) -> bool:
    try:
        return bool(_streamed(show.client())["answer"])
    except (openai.OpenAIError, RuntimeError):
        return False


def _engine_metrics(show: Show) -> dict[str, float]:
    read: dict[str, float] = RUNTIMES["vllm"].metrics.read(_page(f"{show.engine()}/metrics"))
    return read


def _page(url: str) -> str:
    with urllib.request.urlopen(url, timeout=10) as answer:
        content: bytes = answer.read()
    return content.decode()


def _until(holds: Callable[[], bool], seconds: float) -> bool:
    return bool(_until_value(holds, seconds))


def _until_value(look: Callable[[], Any], seconds: float) -> Any:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if value := look():
            return value
        time.sleep(0.02)
    return None


STAGES: Mapping[str, Callable[[Show], dict[str, Any]]] = {
    each.__name__: each for each in (build, deploy, ask, speed, no_quant, fp8, native, kill)
}
