"""Requests of every kind that one engine holds in one batch, beside the same asked one by one."""

import json
import re
import threading
import time
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from benchmarks.gpu.product import Show
from benchmarks.gpu.teaching import tool

_QUESTION = "Describe a lighthouse to a child."
_TOKENS = 768
"""Of each free answer: long enough that all of them run at once for a while."""
_EACH = 3
_BEGUN_SECONDS = 10.0
_SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 20}, "people": {"type": "integer"}},
    "required": ["city", "people"],
    "additionalProperties": False,
}
_RUNNING = re.compile(r"^vllm:num_requests_running\S* ([\d.]+)", re.M)
_ADAPTERS = re.compile(r'^vllm:lora_requests_info\{[^}]*running_lora_adapters="([^"]*)"', re.M)

Ask = Callable[[], dict[str, Any]]


def asked_at_once(show: Show, model: Mapping[str, Any], adapters: Sequence[str]) -> dict[str, Any]:
    """Return what each kind answered alone and together, and what the engine ran at one moment."""
    client = show.client(model)
    begun: list[str] = []
    names = ("any", *adapters)
    kinds: dict[str, Ask] = {
        "tools": lambda: _called(client),
        "strict_schema": lambda: _structured(client),
        **{name: (lambda name=name: _free(client, name, begun)) for name in names},
    }  # fmt: skip
    alone = {kind: ask() for kind, ask in kinds.items()}
    long = [kind for kind in names for _ in range(_EACH)]
    short = [kind for kind in kinds if kind not in names for _ in range(_EACH)]
    with (
        _Watched(show.engine()["url"]) as watched,
        ThreadPoolExecutor(len(long) + len(short)) as pool,
    ):
        futures = [pool.submit(_timed, kind, kinds[kind]) for kind in long]
        _wait_until(begun, len(names) + len(long))
        futures += [pool.submit(_timed, kind, kinds[kind]) for kind in short]
        together = [each.result() for each in futures]
    began = max(each["began"] for each in together)
    ended = min(each["ended"] for each in together[: len(long)])
    values = {
        "alone": alone, "together": together, "most_running": watched.most_running,
        "all_under_way_seconds": round(ended - began, 4),
        "adapters_running_together": max(watched.adapters, key=len, default=""),
    }  # fmt: skip
    return {**values, "missed": _missed(values, names)}


def _wait_until(begun: Sequence[str], count: int) -> None:
    """Return once so many long answers have begun to come, or after a while."""
    ended = time.monotonic() + _BEGUN_SECONDS
    while len(begun) < count and time.monotonic() < ended:
        time.sleep(0.005)


def _timed(kind: str, ask: Ask) -> dict[str, Any]:
    began = time.monotonic()
    return {"kind": kind, "began": began, **ask(), "ended": time.monotonic()}


def _missed(found: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    """Return which answers are not of their kind, and whether all were not in one batch."""
    together = found["together"]
    by_kind = {name: {each["text"] for each in together if each["kind"] == name} for name in names}
    return [
        *(f"{each['kind']} answered {each['text']!r}" for each in together if not each["is_right"]),
        *(["an adapter answers like another model"] if _are_alike(by_kind) else []),
        *(["no moment had them all"] if found["all_under_way_seconds"] <= 0 else []),
    ]


def _are_alike(by_kind: Mapping[str, set[str]]) -> bool:
    sets = list(by_kind.values())
    return any(one & other for at, one in enumerate(sets) for other in sets[at + 1 :])


def _called(client: Any) -> dict[str, Any]:
    answer = client.chat.completions.create(
        model="any", temperature=0, tools=[tool("get_weather", "location")],
        messages=[{"role": "user", "content": "What's the weather like in Boston?"}],
    )  # fmt: skip
    calls = answer.choices[0].message.tool_calls or []
    text = "; ".join(f"{each.function.name}({each.function.arguments})" for each in calls)
    return {"text": text, "is_right": text.startswith('get_weather({"location"')}


def _structured(client: Any) -> dict[str, Any]:
    answer = client.chat.completions.create(
        model="any", max_tokens=128, temperature=0,
        messages=[{"role": "user", "content": "Paris and how many people live there, as JSON."}],
        response_format={"type": "json_schema",
                         "json_schema": {"name": "city", "schema": _SCHEMA, "strict": True}},
    )  # fmt: skip
    text = answer.choices[0].message.content or ""
    try:
        content = json.loads(text)
    except ValueError:
        return {"text": text, "is_right": False}
    is_right = set(content) == {"city", "people"} and isinstance(content["people"], int)
    return {"text": text, "is_right": is_right}


def _free(client: Any, name: str, begun: list[str]) -> dict[str, Any]:
    """Return a long answer, streamed, of the model or of an adapter; the first piece is told."""
    stream = client.chat.completions.create(
        model=name, max_tokens=_TOKENS, temperature=0, stream=True,
        stream_options={"include_usage": True}, extra_body={"ignore_eos": True},
        messages=[{"role": "user", "content": _QUESTION}],
    )  # fmt: skip
    pieces, tokens = [], 0
    for number, chunk in enumerate(stream):
        begun += [name] * (number == 0)
        pieces += [each.delta.content or "" for each in chunk.choices]
        tokens = chunk.usage.completion_tokens if chunk.usage else tokens
    return {"text": "".join(pieces), "is_right": tokens == _TOKENS}


class _Watched:
    """Asks an engine again and again what it runs, for as long as it is open."""

    def __init__(self, url: str) -> None:
        self._url = f"{url}/metrics"
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self.most_running = 0.0
        self.adapters: set[str] = set()

    def __enter__(self) -> "_Watched":
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(0.02):
            with urllib.request.urlopen(self._url, timeout=10) as answer:
                page = answer.read().decode()
            self.most_running = max(self.most_running, *map(float, _RUNNING.findall(page)), 0.0)
            self.adapters |= set(_ADAPTERS.findall(page))
