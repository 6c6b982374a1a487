"""The benchmark runner beside an outside client, at one native engine, in turns of the same minute.

The outside client is `baseten_performance_client` (Rust), which posts the same requests; ours is
the load generator of the product. Each turn asks for the same number of answers of one length at
the same concurrency; the figure is the median of the ratios of their tokens a second.
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
    "ours_to_outside_ratio_low": report.at_least(0.97),
    "ours_to_outside_ratio_high": report.at_most(1.03),
}


def main() -> int:
    """Return the exit status: 0 where both agree within 3 %."""
    options = report.parser(__doc__, full="15 turns, not 4").parse_args()
    told = report.Report(as_json=options.json)
    engine = Ours(smollm2(), 1, "float32")
    try:
        url = f"http://127.0.0.1:{engine.port}"
        turns = [_turn(url) for _ in range(15 if options.full else 4)]
    finally:
        engine.stop()
    ratio = statistics.median(each["ours"] / each["outside"] for each in turns[1:])
    return told.end(
        {
            "ours_to_outside_ratio": round(ratio, 4),
            "ours_to_outside_ratio_low": ratio,
            "ours_to_outside_ratio_high": ratio,
            "ours_tokens_per_second": statistics.median(each["ours"] for each in turns[1:]),
            "outside_tokens_per_second": statistics.median(each["outside"] for each in turns[1:]),
            "client_cpu_milliseconds_per_request": statistics.median(
                each["cpu_milliseconds"] for each in turns[1:]
            ),
            "at_once": AT_ONCE,
            "answers": ANSWERS,
            "tokens": TOKENS,
            "turns": turns,
        },
        BARS,
    )


def _turn(url: str) -> dict[str, float]:
    """Return the rates of both; each is asked twice, since the machine's pace drifts meanwhile."""
    first, cpu = _ours(url)
    outside = [_outside(url), _outside(url)]
    second, _ = _ours(url)
    return {
        "ours": statistics.harmonic_mean([first, second]),
        "outside": statistics.harmonic_mean(outside),
        "cpu_milliseconds": cpu,
    }


def _body(*, is_stream: bool) -> dict[str, Any]:
    told: dict[str, Any] = {
        "model": "served", "max_tokens": TOKENS, "temperature": 0, "ignore_eos": True,
        "messages": [{"role": "user", "content": "Tell me of a lighthouse."}],
    }  # fmt: skip
    if not is_stream:
        return told
    return told | {"stream": True, "stream_options": {"include_usage": True}}


def _outside(url: str) -> float:
    client = PerformanceClient(base_url=url, api_key="none")
    how = RequestProcessingPreference(max_concurrent_requests=AT_ONCE, timeout_s=120.0)
    bodies = [_body(is_stream=False) for _ in range(ANSWERS)]
    found = client.batch_post(url_path=ROUTE, payloads=bodies, preference=how)
    return ANSWERS * TOKENS / float(found.total_time)


def _ours(url: str) -> tuple[float, float]:
    """Return tokens a second, and the client's CPU milliseconds for a request."""
    before = time.process_time()
    requests = asyncio.run(_asked(url))
    cpu = time.process_time() - before
    window = Window(
        begin=min(each.due_at for each in requests),
        until=max(each.ended_at or 0.0 for each in requests) + 1e-6,
    )
    told = summary(requests, window, is_over=True)
    if told["errors"]:
        raise RuntimeError(f"some were not answered: {told['errors_by_reason']}")
    return told["completion_tokens_per_second"], 1e3 * cpu / ANSWERS


async def _asked(url: str) -> list[Timed]:
    client = Client(url, headers={"authorization": "Bearer none"}, clock=SYSTEM)
    content = client.written(ROUTE, json.dumps(_body(is_stream=True)).encode())
    requests: list[Timed] = []

    async def one_after_another() -> None:
        while len(requests) < ANSWERS:
            timed = Timed(due_at=SYSTEM.monotonic(), sent_at=SYSTEM.monotonic())
            requests.append(timed)
            await client.ask(content, Answer(timed, is_stream=True), seconds=120)

    await asyncio.gather(*(one_after_another() for _ in range(AT_ONCE)))
    client.close()
    return requests


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())
