"""Rows join and leave at any step, and none harms another."""

from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue

import pytest
import torch

from controlplane.domain.runtimes.native import metrics
from tests.manual_clock import ManualClock
from tests.tiny_checkpoint import make_tiny_checkpoint
from tests.waiting import DEADLINE_SECONDS
from tests.workers.engine.asking import (
    Asked,
    Hold,
    make_engine,
    start_engine,
    transformers_greedy,
)
from tests.workers.engine.reading_metrics import metric
from workers.engine.engine import Engine
from workers.engine.errors import QueueFull
from workers.engine.generation import FinishReason, Progress
from workers.engine.scheduler import Scheduler

pytestmark = pytest.mark.engine

POISON = 77
PROMPT = (1, 321, 71, 84, 42)
BYTES_PER_TOKEN = 2 * 2 * 2 * 16 * 4


@pytest.fixture(scope="module")
def small_engine(checkpoint: Path) -> Iterator[Engine]:
    """Two rows, four waiting."""
    engine = start_engine(checkpoint, max_batch_size=2, max_waiting_requests=4)
    yield engine
    engine.stop()


@pytest.fixture(scope="module")
def poisoned_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """An engine whose memory holds no number where one token's embedding was.

    No checkpoint with such a one is loaded.
    """
    engine = start_engine(make_tiny_checkpoint(tmp_path_factory.mktemp("poisoned")))
    with torch.no_grad():
        engine._model.module.get_input_embeddings().weight[POISON] = float("nan")
    yield engine
    engine.stop()


def test_rows_that_join_and_leave_do_not_change_an_answer(
    small_engine: Engine, checkpoint: Path
) -> None:
    expected = transformers_greedy(checkpoint, PROMPT, 60)
    hold = Hold()
    long = Asked(small_engine, PROMPT, max_tokens=60, on_piece=hold)
    with hold:
        passers_by = [
            Asked(small_engine, [token], max_tokens=token % 7 + 1) for token in range(5, 9)
        ]
    ended = [passer_by.finish().answer.last_token_at for passer_by in passers_by]
    assert long.finish().answer.last_token_at > max(ended)
    assert long.tokens == expected


def test_one_more_than_may_wait_is_refused(small_engine: Engine) -> None:
    hold = Hold()
    requests = [Asked(small_engine, PROMPT, max_tokens=20, ignore_eos=True, on_piece=hold)]
    with hold, pytest.raises(QueueFull):
        requests.extend(Asked(small_engine, PROMPT, max_tokens=20) for _ in range(6))
    for one in requests:
        one.finish()


def test_a_cancelled_row_is_free_at_the_next_step(small_engine: Engine) -> None:
    hold = Hold()
    how = {"max_tokens": 2000, "ignore_eos": True}
    leaving = Asked(small_engine, PROMPT, **how)
    staying = Asked(small_engine, PROMPT, **how, on_piece=hold)
    seen: list[int] = []
    with hold:
        waiting = Asked(
            small_engine, PROMPT, max_tokens=2, ignore_eos=True,
            on_piece=lambda _: seen.append(len(staying.tokens)),
        )  # fmt: skip
        leaving.answer.cancel()
        before = len(staying.tokens)
    waiting.finish()
    assert seen[-1] - before <= 5
    staying.answer.cancel()
    assert Asked(small_engine, PROMPT, max_tokens=2).finish().failure is None
    assert metric(small_engine, "engine_requests_running") == 0
    assert metric(small_engine, "engine_kv_cache_used_ratio") == 0


def test_a_cancelled_request_leaves_the_line(small_engine: Engine) -> None:
    hold = Hold()
    how = {"max_tokens": 30, "ignore_eos": True}
    rows = [Asked(small_engine, PROMPT, **how), Asked(small_engine, PROMPT, **how, on_piece=hold)]
    with hold:
        waiting = Asked(small_engine, PROMPT)
        waiting.answer.cancel()
    for one in rows:
        one.finish()
    assert waiting.tokens == []


def test_requests_wait_until_the_cache_has_room(checkpoint: Path) -> None:
    engine = start_engine(checkpoint, kv_cache_bytes=100 * BYTES_PER_TOKEN)
    assert engine.max_seq_len == 100
    expected = transformers_greedy(checkpoint, PROMPT, 40)
    request = [Asked(engine, PROMPT, max_tokens=40) for _ in range(7)]
    assert [one.finish().tokens for one in request] == [expected] * 7
    engine.stop()


def test_a_row_of_nan_fails_alone(poisoned_engine: Engine) -> None:
    healthy = [1, 321, 71]
    alone = Asked(poisoned_engine, healthy, max_tokens=40).finish().tokens
    good = [Asked(poisoned_engine, healthy, max_tokens=40) for _ in range(2)]
    bad = Asked(poisoned_engine, [*healthy, POISON], max_tokens=40)
    sampled = Asked(poisoned_engine, [POISON], max_tokens=40, temperature=1.0)
    assert [one.finish().tokens for one in good] == [alone, alone]
    assert bad.finish().failure == "the model's scores for the next token are not numbers"
    assert sampled.finish().failure == bad.failure


def test_a_token_the_model_does_not_know_fails_its_own_row_only(engine: Engine) -> None:
    good = Asked(engine, PROMPT, max_tokens=30)
    bad = Asked(engine, [10_000], max_tokens=30)
    assert bad.finish().failure == "the engine failed on this request (IndexError)"
    assert good.finish().failure is None
    assert Asked(engine, PROMPT, max_tokens=2).finish().reason is FinishReason.LENGTH


def test_a_reader_that_raises_loses_its_own_row_only(engine: Engine) -> None:
    report: SimpleQueue[Progress] = SimpleQueue()

    def refuse(piece: Progress) -> None:
        report.put(piece)
        raise ConnectionError("nobody listens")

    good = Asked(engine, PROMPT, max_tokens=30)
    Asked(engine, PROMPT, max_tokens=30, report=refuse)
    assert good.finish().failure is None
    while not report.get(timeout=DEADLINE_SECONDS).is_last:
        pass
    assert metric(engine, "engine_requests_running") == 0


def test_an_error_that_belongs_to_no_row_ends_all_rows_and_not_the_loop(
    small_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = Asked(small_engine, PROMPT, max_tokens=20).finish().tokens
    failed = metric(small_engine, "engine_requests_failed_total")
    hold = Hold()
    how = {"max_tokens": 2000, "ignore_eos": True}
    request = [
        Asked(small_engine, PROMPT, **how, on_piece=on_piece) for on_piece in (None, hold, None)
    ]
    with monkeypatch.context() as broken:
        with hold:
            broken.setattr(Scheduler, "plan", _break)
        failures = {one.finish().failure for one in request}
    assert failures == {"the engine failed on this request (ArithmeticError)"}
    assert small_engine.is_alive
    assert metric(small_engine, "engine_requests_failed_total") == failed + 3
    assert metric(small_engine, "engine_requests_running") == 0
    assert metric(small_engine, "engine_kv_cache_used_ratio") == 0
    assert Asked(small_engine, PROMPT, max_tokens=20).finish().tokens == expected


@pytest.mark.parametrize(("tokens", "warns"), [(50.4, False), (50.9, True)])
def test_a_cache_that_differs_from_its_plan_is_said_once_at_the_start(
    checkpoint: Path, caplog: pytest.LogCaptureFixture, tokens: float, warns: bool
) -> None:
    planned, real = int(tokens * BYTES_PER_TOKEN), 50 * BYTES_PER_TOKEN
    start_engine(checkpoint, kv_cache_bytes=planned).stop()
    sentence = f"the KV cache takes {real} bytes where the plan gave it {planned}"
    assert caplog.messages.count(sentence) == warns


def test_counters_add_up(checkpoint: Path) -> None:
    engine = start_engine(checkpoint)
    for tokens in (1, 5, 9):
        Asked(engine, PROMPT, max_tokens=tokens, ignore_eos=True).finish()
    engine.stop()
    assert metric(engine, "engine_prompt_tokens_total") == 3 * len(PROMPT)
    assert metric(engine, "engine_completion_tokens_total") == 15
    assert metric(engine, "engine_time_to_first_token_seconds_count") == 3
    assert metric(engine, "engine_inter_token_seconds_count") == 12
    assert metric(engine, "engine_end_to_end_seconds_count") == 3


def test_what_is_measured_goes_by_the_clock_that_the_engine_was_given(checkpoint: Path) -> None:
    clock = ManualClock()
    engine = make_engine(checkpoint, clock=clock)
    request = Asked(engine, PROMPT, max_tokens=3, ignore_eos=True)
    clock.advance(7)
    engine.start()
    request.finish()
    assert metric(engine, "engine_time_to_first_token_seconds_sum") == 7
    assert metric(engine, "engine_end_to_end_seconds_sum") == 7
    engine.stop()


def test_all_that_is_exported_is_read_under_the_names_of_every_runtime(engine: Engine) -> None:
    Asked(engine, PROMPT, max_tokens=3, ignore_eos=True).finish()
    page = engine.metrics.expose().decode()
    assert {*metrics.PLAIN, *(f"{name}_count" for name in metrics.HISTOGRAMS)} <= {
        line.split()[0] for line in page.splitlines() if not line.startswith("#")
    }
    read = metrics.read(page)
    assert read.keys() >= {*metrics.PLAIN.values()}
    assert read["completion_tokens_total"] >= 3


def _break(_: object) -> None:
    raise ArithmeticError("nobody's fault")
