"""Whether a gateway learns from a vLLM that answers on the CPU what it has dropped from its cache.

A tiny model of random weights is served by the vLLM of `--engine-python` as we start it, with a
cache of few blocks, as two replicas behind a real gateway. A conversation goes on, others push it
out of the cache, and it goes on again; then vLLM is asked the same without our argument. Exit 1
where the gateway learned otherwise; 3 without a vLLM, which then prints what was kept.
"""

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import httpx

from benchmarks import report
from benchmarks.cpu_vllm import serving_vllm, version_of
from controlplane.domain.runtimes.vllm.render import TELLS_CACHED
from tests.workers.gateway.stage.process_house import ProcessHouse
from tests.workers.gateway.stage.routes import CHAT, KEY, METRICS_KEY, routes

_KEPT = Path(__file__).parent / "results"
_FEW_BLOCKS = ("--num-gpu-blocks-override", "32", "--block-size", "32")
_OTHERS = 12
"""Conversations that fill the cache, each with some hundred and fifty tokens."""
BARS = {
    "cached_tokens_when_it_went_on": report.at_least(64),
    "cached_tokens_when_it_was_pushed_out": report.at_most(16),
    "beliefs_held": report.at_least(1),
    "beliefs_dropped": report.at_least(1),
    "answers_that_told_without_our_argument": report.at_most(0),
}


def main() -> int:
    """Return the exit status: 0 where the gateway learned what vLLM dropped."""
    parser = report.parser(__doc__, full="does the same")
    parser.add_argument("--engine-python", help="the Python of an environment with vLLM")
    options = parser.parse_args()
    if not options.engine_python:
        print(sorted(_KEPT.glob("prefix_beliefs-*.json"))[-1].read_text())
        return report.NO_HARDWARE
    told = report.Report(as_json=options.json)
    with tempfile.TemporaryDirectory() as folder:
        figures = _measure(Path(folder), options.engine_python)
        return told.end({"vllm": version_of(options.engine_python), **figures}, BARS)


def _measure(folder: Path, python: str) -> dict[str, Any]:
    with serving_vllm(folder, python, TELLS_CACHED, *_FEW_BLOCKS) as port:
        figures = _through_a_gateway(folder, port)
    silent = serving_vllm(folder, python, TELLS_CACHED, f"--no-{TELLS_CACHED.lstrip('-')}")
    with silent as port:
        usages = [_asked(f"http://127.0.0.1:{port}/v1/chat/completions", _talk(0, 1))] * 2
    return figures | {"answers_that_told_without_our_argument": sum(map(_tells, usages))}


def _through_a_gateway(folder: Path, port: int) -> dict[str, Any]:
    with closing(ProcessHouse(folder)) as house:
        house.publish_snapshot(routes(port, port, served_model_name="tiny"))
        url = house.gateway().url
        usages = [_asked(url + CHAT, _talk(0, turns)) for turns in (1, 2, 3)]
        for number in range(1, _OTHERS + 1):
            _asked(url + CHAT, _talk(number, 2))
        usages.append(_asked(url + CHAT, _talk(0, 4)))
        beliefs = Counter(dict(_beliefs(url)))
    return {
        "cached_tokens_when_it_went_on": _cached(usages[2]),
        "cached_tokens_when_it_was_pushed_out": _cached(usages[3]),
        "beliefs_held": beliefs["held"],
        "beliefs_dropped": beliefs["dropped"],
        "usages": usages,
    }


def _talk(number: int, turns: int) -> list[dict[str, str]]:
    said = [f"{number}.{turn} The sky is blue and the sea is deep. " * 3 for turn in range(turns)]
    return [{"role": "user", "content": each} for each in said]


def _asked(url: str, messages: list[dict[str, str]]) -> dict[str, Any]:
    body = {"model": "tiny", "messages": messages, "max_tokens": 2}
    answer = httpx.post(url, json=body, headers={"authorization": f"Bearer {KEY}"}, timeout=120)
    answer.raise_for_status()
    usage: dict[str, Any] = answer.json()["usage"]
    return usage


def _tells(usage: dict[str, Any]) -> bool:
    return usage.get("prompt_tokens_details") is not None


def _cached(usage: dict[str, Any]) -> int:
    return int((usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0)


def _beliefs(url: str) -> Iterator[tuple[str, int]]:
    headers = {"authorization": f"Bearer {METRICS_KEY}"}
    for line in httpx.get(f"{url}/metrics", headers=headers).text.splitlines():
        if line.startswith("gateway_prefix_beliefs_total{"):
            yield line.partition('outcome="')[2].partition('"')[0], int(float(line.split()[-1]))


if __name__ == "__main__":
    sys.exit(main())
