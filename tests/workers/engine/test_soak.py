"""Many short requests, some of them left by their readers, and memory that stays where it was."""

import gc
import os
from itertools import islice
from pathlib import Path
from random import Random

import psutil
import pytest

from tests.tiny_adapter import make_tiny_adapter
from tests.workers.engine.asking import Asked, start_engine
from tests.workers.engine.reading_metrics import metric
from workers.engine.engine import Engine
from workers.runtimes.native.drafting import drafters

pytestmark = pytest.mark.engine

GROUP = 50
MOST_GROWTH_BYTES = 16 << 20


@pytest.mark.parametrize(
    "requests",
    [
        pytest.param(300, id="300"),
        pytest.param(10_000, id="10,000", marks=pytest.mark.long),
    ],
)
def test_short_requests_and_random_cancels_leave_nothing_behind(
    checkpoint: Path, tmp_path: Path, requests: int
) -> None:
    adapters = {"legal": make_tiny_adapter(tmp_path, seed=1)}
    engine = start_engine(checkpoint, adapters=adapters, make_drafter=drafters(2, 1))
    choice = Random(7)
    for _ in range(2):
        _ask_group(engine, choice)  # what is made once is there before memory is read
    before = _memory()
    ended = sum(_ask_group(engine, choice) for _ in range(requests // GROUP))
    grown = _memory() - before
    assert requests / 2 < ended < requests
    assert grown < MOST_GROWTH_BYTES, f"{grown} bytes more after {requests} requests"
    assert Asked(engine, [5], max_tokens=1).finish().failure is None
    for gauge in ("requests_running", "requests_waiting", "kv_cache_used_ratio"):
        assert metric(engine, f"engine_{gauge}") == 0
    assert metric(engine, "engine_requests_failed_total") == 0
    engine.stop()


def _ask_group(engine: Engine, choice: Random) -> int:
    """Ask at once, cancel some at any stage, wait for the others; give back how many ended."""
    request = [
        Asked(
            engine, [choice.randrange(512) for _ in range(choice.randint(1, 30))],
            max_tokens=choice.randint(1, 8), temperature=choice.choice([0.0, 0.9]),
            generation={"adapter": choice.choice([None, "legal"])},
        )
        for _ in range(GROUP)
    ]  # fmt: skip
    left = [one for one in request if choice.random() < 0.25]
    for one in left:
        for _ in islice(one.pieces(), choice.randrange(3)):
            pass
        one.answer.cancel()
    return sum(one.finish().failure is None for one in request if one not in left)


def _memory() -> int:
    gc.collect()
    return int(psutil.Process(os.getpid()).memory_info().rss)
