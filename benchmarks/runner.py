"""The benchmark runner beside outside clients, at one native engine, at the same time.

Like with like: answers that stream, beside OpenAI's own client, and answers that come whole, beside
`baseten_performance_client` (Rust). Both post the same requests at the same concurrency side by
side, so that whatever else the machine does meets both, and take answers of one length. What is
compared is how long an answer took by either clock, the mean of all turns' middle halves. Until
2026-11-30 they took turns, whose ratios went from 0.53 to 1.30 on a machine with other work.
"""

import asyncio
import json
import os
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from baseten_performance_client import (  # noqa: E402
    PerformanceClient,
    RequestProcessingPreference,
)
from openai import AsyncOpenAI  # noqa: E402

from benchmarks import report  # noqa: E402
from benchmarks.checkpoints import smollm2  # noqa: E402
from benchmarks.engine_cpu_parts.sides import Ours  # noqa: E402
from controlplane.clock import SYSTEM  # noqa: E402
from controlplane.domain.benchmarks.timings import Timed  # noqa: E402
from workers.benchmarking.answers import Answer  # noqa: E402
from workers.benchmarking.connection import Client  # noqa: E402

AT_ONCE, ANSWERS, TOKENS = 2, 8, 16
"""Of each of the two clients, in a turn."""
ROUTE = "/v1/chat/completions"
BARS = {
    f"{way}_to_outside_ratio_{end}": bar
    for way in ("streamed", "whole")
    for end, bar in (("low", report.at_least(0.97)), ("high", report.at_most(1.03)))
}
Seconds = list[float]


@dataclass
class Told:
    """What one client says of its answers, over all turns."""

    seconds: Seconds = field(default_factory=list)
    first_seconds: Seconds = field(default_factory=list)
    """To the first token, of streams."""

    def add(self, other: "Told") -> None:
        self.seconds += other.seconds
        self.first_seconds += other.first_seconds


def main() -> int:
    """Return the exit status: 0 where both agree within 3 %."""
    options = report.parser(__doc__, full="15 turns, not 4").parse_args()
    summary = report.Report(as_json=options.json)
    engine = Ours(smollm2(), 1, "float32")
    try:
        url = f"http://127.0.0.1:{engine.port}"
        _side_by_side(url, "whole")  # the first requests after a start are slower, whoever asks
        figures = _figures(url, turns=15 if options.full else 4)
    finally:
        engine.stop()
    sizes = {"at_once_of_each": AT_ONCE, "answers_in_a_turn": ANSWERS, "tokens": TOKENS}
    return summary.end({**figures, **sizes}, BARS)


def _figures(url: str, *, turns: int) -> dict[str, float]:
    figures: dict[str, float] = {"turns": turns}
    for way in ("streamed", "whole"):
        ours, outside, cpu = Told(), Told(), 0.0
        for _ in range(turns):
            one, other, spent = _side_by_side(url, way)
            ours.add(one)
            outside.add(other)
            cpu += spent
        ratio = _middle(ours.seconds) / _middle(outside.seconds)
        figures |= {
            f"{way}_to_outside_ratio_low": ratio,
            f"{way}_to_outside_ratio_high": ratio,
            f"{way}_seconds": _middle(ours.seconds),
            f"{way}_outside_seconds": _middle(outside.seconds),
            f"{way}_client_cpu_milliseconds_per_request": 1e3 * cpu / turns / ANSWERS,
        }
        if ours.first_seconds:
            first = _middle(ours.first_seconds) / _middle(outside.first_seconds)
            figures[f"{way}_first_token_to_outside_ratio"] = first
    return figures


def _middle(seconds: Seconds) -> float:
    """Return the mean without the quickest and the slowest quarter."""
    quarter = len(seconds) // 4
    return statistics.fmean(sorted(seconds)[quarter : len(seconds) - quarter])


def _side_by_side(url: str, way: str) -> tuple[Told, Told, float]:
    """Return what both say of the answers that both waited for at once, and our CPU seconds."""
    outside = {"streamed": _openai, "whole": _performance_client}[way]
    with ThreadPoolExecutor(1) as beside:
        future = beside.submit(outside, url)
        ours, cpu = _ours(url, is_stream=way == "streamed")
        return ours, future.result(), cpu


def _body(*, is_stream: bool) -> dict[str, Any]:
    values: dict[str, Any] = {
        "model": "served", "max_tokens": TOKENS, "temperature": 0, "ignore_eos": True,
        "messages": [{"role": "user", "content": "Tell me of a lighthouse."}],
    }  # fmt: skip
    if not is_stream:
        return values
    return values | {"stream": True, "stream_options": {"include_usage": True}}


def _performance_client(url: str) -> Told:
    client = PerformanceClient(base_url=url, api_key="none")
    how = RequestProcessingPreference(max_concurrent_requests=AT_ONCE, timeout_s=120.0)
    bodies = [_body(is_stream=False) for _ in range(ANSWERS)]
    outcome = client.batch_post(url_path=ROUTE, payloads=bodies, preference=how)
    return Told(seconds=[float(each) for each in outcome.individual_request_times])


def _openai(url: str) -> Told:
    return asyncio.run(_openai_asked(url))


async def _openai_asked(url: str) -> Told:
    left, summary = list(range(ANSWERS)), Told()
    body = _body(is_stream=True)
    more = {"ignore_eos": body.pop("ignore_eos")}
    async with AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:

        async def one_after_another() -> None:
            while left:
                left.pop()
                began = time.perf_counter()
                first = None
                async for event in await client.chat.completions.create(**body, extra_body=more):
                    if event.choices and event.choices[0].delta.content:
                        first = first or time.perf_counter()
                summary.seconds.append(time.perf_counter() - began)
                summary.first_seconds.append((first or began) - began)

        await asyncio.gather(*(one_after_another() for _ in range(AT_ONCE)))
    return summary


def _ours(url: str, *, is_stream: bool) -> tuple[Told, float]:
    """Return what our client says of its answers, and the CPU seconds of its thread."""
    before = time.thread_time()
    requests = asyncio.run(_asked(url, is_stream=is_stream))
    cpu = time.thread_time() - before
    failed = [each.error for each in requests if not each.is_good]
    if failed or {each.completion_tokens for each in requests} != {TOKENS}:
        raise RuntimeError(f"answers of {TOKENS} tokens were asked for: {failed}")
    first = [each.first_at - each.due_at for each in requests if each.first_at is not None]
    return Told([(each.ended_at or 0.0) - each.due_at for each in requests], first), cpu


async def _asked(url: str, *, is_stream: bool) -> list[Timed]:
    client = Client(url, headers={"authorization": "Bearer none"}, clock=SYSTEM)
    content = client.written(ROUTE, json.dumps(_body(is_stream=is_stream)).encode())
    requests: list[Timed] = []

    async def one_after_another() -> None:
        while len(requests) < ANSWERS:
            timed = Timed(due_at=SYSTEM.monotonic(), sent_at=SYSTEM.monotonic())
            requests.append(timed)
            await client.ask(content, Answer(timed, is_stream=is_stream), seconds=120)

    await asyncio.gather(*(one_after_another() for _ in range(AT_ONCE)))
    client.close()
    return requests


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())
