"""A model over two GPUs: its layers divided (tensor parallel), or half of them on each (pipeline).

The shape of Qwen3-8B with random weights in FP8. vLLM compiles nothing (`mode: 0`), which spares
each start a minute, and replays its decode steps as CUDA graphs.
"""

import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import openai

from benchmarks.gpu.load import tokens_per_second
from benchmarks.gpu.product import Show, until
from benchmarks.gpu.random_checkpoint import FP8_FOLDER
from benchmarks.gpu.stages.building import told
from benchmarks.gpu.stages.serving import deployed, taken_down
from benchmarks.gpu.stages.watching import Watch, fault
from controlplane.domain.runtimes.device_links import DEVICE_LINKS
from workers.agent import nvidia

WEIGHTS = "random weights in the shape of Qwen3-8B, in FP8, made on the host from its public config"
TENSOR, PIPELINE, SINGLE = "qwen3-8b-two-ranks", "qwen3-8b-two-stages", "qwen3-8b-one-device"
_DIVIDED = {TENSOR: ("tensor_parallel_count", 2), PIPELINE: ("pipeline_parallel_count", 2),
            SINGLE: ("tensor_parallel_count", 1)}  # fmt: skip
_CONFIG = """\
model_name: {name}
resources:
  accelerator: "{device}:{count}"
trt_llm:
  build:
    base_model: decoder
    checkpoint_repository: {{source: LOCAL, repo: {folder}}}
    max_seq_len: 4096
    max_batch_size: 64
    quantization_type: no_quant
    {divided}: {count}
  runtime:
    served_model_name: {name}
enginehouse:
  runtime: vllm
  vllm_args:
    compilation-config: {{mode: 0, cudagraph_mode: FULL_DECODE_ONLY}}
{more}"""
_TURNS = int(os.environ.get("SPEED_TURNS", "3"))
_TOKENS = int(os.environ.get("SPEED_TOKENS", "128"))
STREAMS = (1, 8, 64)


def build(show: Show) -> dict[str, Any]:
    """Over two ranks: read, packaged, started on both GPUs and asked once."""
    return built(show, TENSOR)


def serve(show: Show) -> dict[str, Any]:
    """That artifact behind the gateway: both GPUs leased, asked, timed."""
    return _served(show, TENSOR)


def kill_rank(show: Show) -> dict[str, Any]:
    """The process of the second rank killed; the build for one GPU is begun meanwhile."""
    model = show.model(TENSOR)
    watch = Watch(show, model)
    before = on_each_device()
    engine = show.engine()["pid"]
    rank = max(before[1], key=lambda user: user["held_bytes"] or 0)["pid"]
    watch.begin()
    os.kill(rank, signal.SIGKILL)
    start_build(show, SINGLE)
    watch.during(600, lambda: show.engines() and show.engine()["pid"] != engine)
    watch.during(600, lambda: answers(show, model))
    after = on_each_device()
    rows = [fault(
        "the process of the second rank killed while it served (SIGKILL)", watch.first_failure(),
        watch.seconds, "after the kill: a new engine answers on both GPUs",
    )]  # fmt: skip
    return {
        "faults": rows,
        "before": before,
        "after": after,
        "left_of_the_old_engine": _both(before, after),
        "said": watch.seen,
        "taken_down": down(show, model),
    }


def build_pipeline(show: Show) -> dict[str, Any]:
    """Half of the layers on each GPU, so too."""
    return built(show, PIPELINE)


def serve_pipeline(show: Show) -> dict[str, Any]:
    """That artifact behind the gateway."""
    outcome = _served(show, PIPELINE)
    return {**outcome, "taken_down": down(show, show.model(PIPELINE))}


def start_build(show: Show, name: str) -> None:
    """Begin a build, which waits for its GPUs where they are held."""
    show.made[f"begun {name}"] = show.start_build(name, config_of(show, name))


def built(show: Show, name: str) -> dict[str, Any]:
    """Return what a build told, one that was begun before where there is one."""
    checkpoint = show.data / "checkpoints" / FP8_FOLDER
    until((checkpoint / "config.json").exists)
    if f"begun {name}" not in show.made:
        start_build(show, name)
    ended = show.succeeded(show.made[f"begun {name}"])
    show.made[name] = ended
    return {"weights": WEIGHTS, **told(show, ended, config_of(show, name), checkpoint)}


def config_of(show: Show, name: str) -> str:
    divided, count = _DIVIDED[name]
    more = "    disable-custom-all-reduce: true\n" if "NO_PEER_ACCESS" in os.environ else ""
    kind = show.device["kind"]
    return _CONFIG.format(
        name=name, device=kind, folder=FP8_FOLDER, divided=divided, count=count, more=more
    )


def _served(show: Show, name: str) -> dict[str, Any]:
    outcome = deployed(show, name, show.build_of(name))
    model = show.model(name)
    client = show.client(model)
    return {
        "weights": WEIGHTS,
        **outcome,
        "leased": Watch(show, model).devices(),
        "on_each_device": on_each_device(),
        "links_told": links_told(show),
        "asked": asked(client),
        "asked_again": asked(client),
        "rows": through_the_gateway(show, model),
    }


def through_the_gateway(
    show: Show, model: Mapping[str, Any], streams: tuple[int, ...] = STREAMS
) -> list[dict[str, Any]]:
    """Return tokens per second of the turns after a first that warms up."""
    base, headers = show.base_url(model), {"Authorization": f"Bearer {show.api_key}"}
    return [rates(base, headers, count) for count in streams]


def rates(url: str, headers: dict[str, str], count: int, name: str = "any") -> dict[str, Any]:
    turns = [
        tokens_per_second(url, headers=headers, model=name, streams=count, tokens=_TOKENS)
        for _ in range(_TURNS + 1)
    ][1:]
    best = max(each["tokens_per_second"] for each in turns)
    return {"streams": count, "tokens_per_second": best, "turns": turns}


def asked(client: openai.OpenAI) -> dict[str, Any]:
    """Return an answer; of random weights it means nothing, and some tokens have no letters."""
    outcome = client.chat.completions.create(
        model="any", max_tokens=64, temperature=0,
        messages=[{"role": "user", "content": "What is the capital of France?"}],
    )  # fmt: skip
    [choice] = outcome.choices
    tokens = outcome.usage.completion_tokens if outcome.usage else 0
    return {
        "answer": choice.message.content,
        "finish_reason": choice.finish_reason,
        "tokens": tokens,
    }


def on_each_device() -> list[list[dict[str, Any]]]:
    """Return the processes on each GPU, as its driver tells of them."""
    kept = ("pid", "name", "held_bytes", "is_ours", "has_ended")
    return [[{key: user.get(key) for key in kept} for user in device["used_by"]]
            for device in nvidia.devices()]  # fmt: skip


def links_told(show: Show) -> dict[str, str]:
    """Return what an engine was told of how its GPUs reach each other."""
    environment = Path(f"/proc/{show.engine()['pid']}/environ").read_bytes().split(b"\0")
    pairs = (each.decode(errors="replace").partition("=") for each in environment)
    return {name: value for name, _, value in pairs if name in DEVICE_LINKS}


def answers(show: Show, model: Mapping[str, Any]) -> bool:
    try:
        return bool(asked(show.client(model))["tokens"])
    except Exception:  # whatever is wrong, it does not answer yet
        return False


def _both(before: list[list[dict[str, Any]]], after: list[list[dict[str, Any]]]) -> list[int]:
    """Return the processes that are still on a GPU."""
    old, new = ({user["pid"] for users in each for user in users} for each in (before, after))
    return sorted(old & new)


def down(show: Show, model: Mapping[str, Any]) -> dict[str, Any]:
    """Deactivate the deployment; return when it was, and when no process was left on a GPU."""
    outcome = taken_down(show, model)
    began = time.monotonic()
    until(lambda: not any(on_each_device()))
    return {**outcome, "seconds_until_no_process_was_left": round(time.monotonic() - began, 1)}
