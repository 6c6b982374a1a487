"""The benchmark runner beside outside clients, at one native engine, in turns of the same minute.

Like with like: answers that stream, beside OpenAI's own client, and answers that come whole, beside
`baseten_performance_client` (Rust). All post the same requests at the same concurrency and take
answers of one length; the figures are the medians of the turns' ratios of tokens a second.
"""

import asyncio
import json
import os
import statistics
import sys
import time
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
from controlplane.domain.benchmarks.timings import Timed, Window, summary  # noqa: E402
from workers.benchmarking.answers import Answer  # noqa: E402
from workers.benchmarking.connection import Client  # noqa: E402

AT_ONCE, ANSWERS, TOKENS = 4, 8, 16
ROUTE = "/v1/chat/completions"
BARS = {
    f"{way}_to_outside_ratio_{end}": bar
    for way in ("streamed", "whole")
    for end, bar in (("low", report.at_least(0.97)), ("high", report.at_most(1.03)))
}
Turn = dict[str, float]


def main() -> int:
    """Return the exit status: 0 where both agree within 3 %."""
    options = report.parser(__doc__, full="15 turns, not 4").parse_args()
    told = report.Report(as_json=options.json)
    engine = Ours(smollm2(), 1, "float32")
    try:
        url = f"http://127.0.0.1:{engine.port}"
        _turn(url)  # the first requests after a start are slower, whoever asks
        turns = [_turn(url) for _ in range(15 if options.full else 4)]
    finally:
        engine.stop()
    sizes = {"at_once": AT_ONCE, "answers": ANSWERS, "tokens": TOKENS}
    return told.end({**_figures("streamed", turns), **_figures("whole", turns), **sizes,
                     "turns": turns}, BARS)  # fmt: skip


def _figures(way: str, turns: list[Turn]) -> dict[str, float]:
    ratio = statistics.median(each[way] / each[f"{way}_outside"] for each in turns)
    return {
        **dict.fromkeys((f"{way}_to_outside_ratio_low", f"{way}_to_outside_ratio_high"), ratio),
        f"{way}_tokens_per_second": statistics.median(each[way] for each in turns),
        f"{way}_outside_tokens_per_second": statistics.median(
            each[f"{way}_outside"] for each in turns
        ),
        f"{way}_client_cpu_milliseconds_per_request": statistics.median(
            each[f"{way}_cpu_milliseconds"] for each in turns
        ),
    }


def _turn(url: str) -> Turn:
    """Return the rates of all; each is asked twice, since the machine's pace drifts meanwhile."""
    told: Turn = {}
    for way, outside in (("streamed", _openai), ("whole", _performance_client)):
        first, cpu = _ours(url, is_stream=way == "streamed")
        theirs = [outside(url), outside(url)]
        second, _ = _ours(url, is_stream=way == "streamed")
        told[way] = statistics.harmonic_mean([first, second])
        told[f"{way}_outside"] = statistics.harmonic_mean(theirs)
        told[f"{way}_cpu_milliseconds"] = cpu
    return told


def _body(*, is_stream: bool) -> dict[str, Any]:
    told: dict[str, Any] = {
        "model": "served", "max_tokens": TOKENS, "temperature": 0, "ignore_eos": True,
        "messages": [{"role": "user", "content": "Tell me of a lighthouse."}],
    }  # fmt: skip
    if not is_stream:
        return told
    return told | {"stream": True, "stream_options": {"include_usage": True}}


def _performance_client(url: str) -> float:
    client = PerformanceClient(base_url=url, api_key="none")
    how = RequestProcessingPreference(max_concurrent_requests=AT_ONCE, timeout_s=120.0)
    bodies = [_body(is_stream=False) for _ in range(ANSWERS)]
    found = client.batch_post(url_path=ROUTE, payloads=bodies, preference=how)
    return ANSWERS * TOKENS / float(found.total_time)


def _openai(url: str) -> float:
    return asyncio.run(_openai_asked(url))


async def _openai_asked(url: str) -> float:
    left = list(range(ANSWERS))
    tokens = []
    async with AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
        body = _body(is_stream=True)
        ignore_eos = {"ignore_eos": body.pop("ignore_eos")}

        async def one_after_another() -> None:
            while left:
                left.pop()
                async for event in await client.chat.completions.create(
                    **body, extra_body=ignore_eos
                ):
                    if event.usage is not None:
                        tokens.append(event.usage.completion_tokens)

        began = time.perf_counter()
        await asyncio.gather(*(one_after_another() for _ in range(AT_ONCE)))
        took = time.perf_counter() - began
    if tokens != [TOKENS] * ANSWERS:
        raise RuntimeError(f"answers of {TOKENS} tokens were asked for, and these came: {tokens}")
    return ANSWERS * TOKENS / took


def _ours(url: str, *, is_stream: bool) -> tuple[float, float]:
    """Return tokens a second, and the client's CPU milliseconds for a request."""
    before = time.process_time()
    requests = asyncio.run(_asked(url, is_stream=is_stream))
    cpu = time.process_time() - before
    window = Window(
        begin=min(each.due_at for each in requests),
        until=max(each.ended_at or 0.0 for each in requests) + 1e-6,
    )
    told = summary(requests, window, is_over=True)
    if told["errors"]:
        raise RuntimeError(f"some were not answered: {told['errors_by_reason']}")
    return told["completion_tokens_per_second"], 1e3 * cpu / ANSWERS


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
