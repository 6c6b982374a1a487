"""The artifact behind the gateway: the `openai` client, a cancel, and tokens per second."""

import json
import os
import statistics
import time
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import openai

from benchmarks.gpu.load import tokens_per_second
from benchmarks.gpu.product import Missed, Show, until
from benchmarks.gpu.stages.building import SERVED_NAME
from controlplane.domain.runtimes import RUNTIMES

_SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 20}, "people": {"type": "integer"}},
    "required": ["city", "people"],
    "additionalProperties": False,
}
_AFTERWARDS_SECONDS = 1.0
"""In which an engine that still ran would have made many tokens."""
_TURNS = int(os.environ.get("SPEED_TURNS", "4"))
_TOKENS = int(os.environ.get("SPEED_TOKENS", "256"))


def deploy(show: Show) -> dict[str, Any]:
    """The artifact served by vLLM behind the gateway."""
    return deployed(show, "smollm2", show.build_of(SERVED_NAME))


def deployed(show: Show, name: str, build: dict[str, Any]) -> dict[str, Any]:
    started = time.monotonic()
    model = show.job.deployed(name=name, build=build)
    show.made[f"model {name}"] = model
    return {
        "seconds_to_active": round(time.monotonic() - started, 1),
        "deployment": show.deployment(model),
        "replicas": show.replicas(model),
        "engine_metrics": engine_metrics(show),
        "device_used_bytes": show.device["used_bytes"],
        "log": show.engine_log()[-400:],
    }


def ask(show: Show) -> dict[str, Any]:
    """The `openai` client: streamed chat, JSON schema, and a cancel that reaches the engine."""
    client = show.client(show.model("smollm2"))
    return {
        "streamed": streamed(client),
        "json_schema": _structured(client),
        "cancel": _cancelled(show, client),
    }


def streamed(client: openai.OpenAI) -> dict[str, Any]:
    started, first, pieces = time.monotonic(), 0.0, []
    for chunk in client.chat.completions.create(
        model="any", max_tokens=64, temperature=0, stream=True,
        messages=[{"role": "user", "content": "What is the capital of France?"}],
    ):  # fmt: skip
        if chunk.choices and (piece := chunk.choices[0].delta.content):
            first = first or time.monotonic() - started
            pieces.append(piece)
    if not pieces:
        raise Missed("the stream held no word", {})
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
    seen = {"text": text, "finish_reason": answer.choices[0].finish_reason}
    try:
        content = json.loads(text)
    except ValueError:
        return {**seen, "holds_the_schema": False}
    is_right = set(content) == {"city", "people"} and isinstance(content["people"], int)
    return {**seen, "holds_the_schema": is_right}


def _cancelled(show: Show, client: openai.OpenAI) -> dict[str, Any]:
    """Return how soon after the client hung up the engine ran nothing any more."""
    before = engine_metrics(show)
    stream = client.chat.completions.create(
        model="any", max_tokens=1900, temperature=0, stream=True, extra_body={"ignore_eos": True},
        messages=[{"role": "user", "content": "Count to ten thousand."}],
    )  # fmt: skip
    next(iter(stream))
    until(lambda: engine_metrics(show)["requests_running"] >= 1)
    stream.close()
    left = time.monotonic()
    until(lambda: engine_metrics(show)["requests_running"] == 0)
    seconds = time.monotonic() - left
    after = engine_metrics(show)
    time.sleep(_AFTERWARDS_SECONDS)
    later = engine_metrics(show)
    page = _page(f"{show.engine()['url']}/metrics")
    return {
        "engine_says": [line for line in page.splitlines() if 'finished_reason="abort"' in line],
        "seen_running_at_the_engine": True,
        "idle_after_hanging_up": True,
        "seconds_until_the_engine_said_idle": round(seconds, 3),
        "tokens_made_of_1900": after["completion_tokens_total"] - before["completion_tokens_total"],
        "tokens_made_in_the_next_second": (
            later["completion_tokens_total"] - after["completion_tokens_total"]
        ),
    }


def speed(show: Show) -> dict[str, Any]:
    """Tokens per second at 1, 8 and 64 streams: through the gateway, and at the same engine."""
    rows = measured(show, show.model("smollm2"))
    return {"model": "SmolLM2-135M-Instruct in FP8 with FP8 KV", "rows": rows}


def measured(show: Show, model: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the best of some turns, gateway and engine by turns; the first warms up."""
    engine = f"{show.engine()['url']}/v1"
    name = served_name(engine)
    ways = {
        "gateway": (show.base_url(model), {"Authorization": f"Bearer {show.api_key}"}),
        "alone": (engine, {}),
    }

    def once(way: str, streams: int) -> dict[str, Any]:
        url, headers = ways[way]
        return tokens_per_second(url, headers=headers, model=name, streams=streams, tokens=_TOKENS)

    rows = []
    for streams in (1, 8, 64):
        turns = [_turn(once, ways, streams, number) for number in range(_TURNS + 1)][1:]
        rows.append({"streams": streams, **_told(turns), "turns": turns})
    return rows


def _turn(
    once: Callable[[str, int], dict[str, Any]], ways: Iterable[str], streams: int, number: int
) -> dict[str, Any]:
    """Return one run each way; who comes first changes from turn to turn."""
    order = list(ways)[:: 1 if number % 2 else -1]
    return {way: once(way, streams) for way in order}


def _told(turns: list[dict[str, Any]]) -> dict[str, float]:
    """Return the best and the median rate each way, and what the gateway costs by both."""
    rates = {way: [turn[way]["tokens_per_second"] for turn in turns] for way in turns[0]}
    best = {way: max(rates[way]) for way in ("gateway", "alone")}
    middle = {way: statistics.median(rates[way]) for way in best}
    return {
        **best,
        "cost_percent": round(100 * (1 - best["gateway"] / best["alone"]), 2),
        "cost_of_medians_percent": round(100 * (1 - middle["gateway"] / middle["alone"]), 2),
    }


def take_down(show: Show) -> dict[str, Any]:
    """The deployment deactivated, and the GPU's memory given back."""
    return taken_down(show, show.model("smollm2"))


def taken_down(show: Show, model: Mapping[str, Any]) -> dict[str, Any]:
    started = time.monotonic()
    path = f"models/{model['id']}/deployments/{model['deployment']['id']}"
    show.job._post(f"{path}/deactivate", {})
    until(lambda: show.deployment(model)["status"] == "INACTIVE")
    inactive = time.monotonic() - started
    device = show.free_device()
    return {
        "seconds_until_inactive": round(inactive, 1),
        "seconds_until_the_device_is_free": round(time.monotonic() - started, 1),
        "device_used_bytes": device["used_bytes"],
    }


def engine_metrics(show: Show) -> dict[str, float]:
    return metrics_at(show.engine()["url"])


def served_name(url: str) -> str:
    """Return the name under which the engine at this address serves its model."""
    return str(json.loads(_page(f"{url}/models"))["data"][0]["id"])


def metrics_at(url: str) -> dict[str, float]:
    """Return what the engine at this address counts."""
    read: dict[str, float] = RUNTIMES["vllm"].metrics.read(_page(f"{url}/metrics"))
    return read


def _page(url: str) -> str:
    with urllib.request.urlopen(url, timeout=10) as answer:
        content: bytes = answer.read()
    return content.decode()
