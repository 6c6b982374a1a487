"""A full cache: who waits, who gives way, and that no answer changes for it."""

import random
from pathlib import Path

import pytest

from tests.workers.engine.asking import Asked, Hold, make_engine, start_engine
from tests.workers.engine.reading_metrics import metric
from workers.engine import scheduler
from workers.engine.engine import Engine

pytestmark = pytest.mark.engine

BYTES_PER_TOKEN = 2 * 2 * 2 * 16 * 4


def _prompts(lengths: tuple[int, ...]) -> list[list[int]]:
    choice = random.Random(2)
    return [[choice.randrange(3, 390) for _ in range(length)] for length in lengths]


def _tight(checkpoint: Path, policy: str, tokens: int = 256, **settings: object) -> Engine:
    return make_engine(
        checkpoint, kv_cache_bytes=tokens * BYTES_PER_TOKEN, scheduler_policy=policy,
        max_batch_size=4, **settings,
    )  # fmt: skip


@pytest.mark.parametrize("step_tokens", [9, pytest.param(512, marks=pytest.mark.long)])
def test_rows_that_give_way_answer_as_if_alone(checkpoint: Path, step_tokens: int) -> None:
    engine = _tight(checkpoint, "max_utilization", max_num_tokens=step_tokens)
    prompts = _prompts((20, 3, 30, 11, 5, 40))
    request = [Asked(engine, prompt, max_tokens=180, ignore_eos=True) for prompt in prompts]
    engine.start()  # only now, so that all rows want the cache at once
    answers = [one.finish().tokens for one in request]
    assert metric(engine, "engine_preemptions_total") > 0
    assert [len(answer) for answer in answers] == [180] * 6
    roomy = start_engine(checkpoint)
    for prompt, answer in zip(prompts, answers, strict=True):
        assert Asked(roomy, prompt, max_tokens=180, ignore_eos=True).finish().tokens == answer
    assert metric(engine, "engine_kv_cache_used_ratio") == 0
    roomy.stop()
    engine.stop()


def test_without_eviction_a_row_is_promised_all_it_may_need(checkpoint: Path) -> None:
    engine = _tight(checkpoint, "guaranteed_no_evict")
    engine.start()
    hold = Hold(times=2)
    requests = [Asked(engine, [5, 6, 7], max_tokens=120, on_piece=hold, ignore_eos=True)]
    with hold:
        requests += [Asked(engine, [5, 6, 7], max_tokens=120) for _ in range(3)]
    with hold:
        assert metric(engine, "engine_requests_running") == 2
    for one in requests:
        one.finish()
    assert metric(engine, "engine_preemptions_total") == 0
    engine.stop()


def test_full_use_admits_more_rows_than_could_all_run_to_their_end(checkpoint: Path) -> None:
    engine = _tight(checkpoint, "max_utilization", tokens=400)
    engine.start()
    hold = Hold(times=2)
    how = {"max_tokens": 250, "ignore_eos": True}
    requests = [Asked(engine, [5, 6, 7], on_piece=hold, **how)]
    with hold:
        requests += [Asked(engine, [5, 6, 7], **how) for _ in range(2)]
    with hold:
        assert metric(engine, "engine_requests_running") > 1
        for one in requests:
            one.answer.cancel()
    engine.stop()


def test_the_limit_of_all_tokens_holds_back_what_the_cache_had_room_for(checkpoint: Path) -> None:
    engine = start_engine(checkpoint, total_token_limit=100)
    assert engine.max_seq_len == 100
    hold = Hold(times=2)
    requests = [Asked(engine, [5, 6, 7], max_tokens=40, on_piece=hold, ignore_eos=True)]
    with hold:
        requests += [Asked(engine, [5, 6, 7], max_tokens=40) for _ in range(3)]
    with hold:
        assert metric(engine, "engine_requests_running") == 2
    assert [one.finish().failure for one in requests] == [None] * 4
    engine.stop()


def test_a_short_prompt_need_not_wait_for_a_long_one(checkpoint: Path) -> None:
    engine = start_engine(checkpoint, max_num_tokens=16)
    hold = Hold()
    beside = Asked(engine, [5], max_tokens=2000, on_piece=hold, ignore_eos=True)
    with hold:
        long = Asked(engine, _prompts((900,))[0], max_tokens=1, ignore_eos=True)
        short = Asked(engine, [5, 6, 7], max_tokens=4)
    last = long.finish().answer.last_token_at
    assert short.finish().answer.last_token_at < last
    beside.answer.cancel()
    engine.stop()


def test_a_long_prompt_ends_while_short_ones_keep_coming(checkpoint: Path) -> None:
    engine = start_engine(checkpoint, max_num_tokens=16, max_batch_size=4)
    hold = Hold(times=2)
    beside = Asked(engine, [5], max_tokens=2000, on_piece=hold, ignore_eos=True)
    with hold:
        long = Asked(engine, _prompts((200,))[0], max_tokens=1)
    with hold:  # the long one has a row
        shorts = [Asked(engine, prompt, max_tokens=1) for prompt in _prompts((15,) * 120)]
    long.finish()
    last = [short.finish() for short in shorts][-1]
    assert long.answer.last_token_at < last.answer.last_token_at
    beside.answer.cancel()
    engine.stop()


def test_a_large_request_is_not_passed_for_ever(checkpoint: Path) -> None:
    engine = _tight(checkpoint, "guaranteed_no_evict", tokens=100)
    engine.start()
    hold = Hold()
    small = [Asked(engine, [5, 6, 7], max_tokens=30, ignore_eos=True, on_piece=hold)]
    with hold:
        large = Asked(engine, [5, 6, 7], max_tokens=97, ignore_eos=True)
        small += [Asked(engine, [5, 6, 7], max_tokens=30, ignore_eos=True) for _ in range(3)]
    for at in range(60):
        small[at].finish()
        small.append(Asked(engine, [5, 6, 7], max_tokens=30, ignore_eos=True))
    assert large.finish().failure is None
    assert small[-1].finish().answer.last_token_at > large.answer.last_token_at
    assert small[1].answer.last_token_at < large.answer.last_token_at
    engine.stop()


def test_a_crowd_of_short_requests_passes_a_long_one_so_often_and_no_more(
    checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler, "MOST_PASSED", 5)
    engine = make_engine(checkpoint, max_batch_size=1)
    long = Asked(engine, [5, 6], max_tokens=60, ignore_eos=True)
    short = [Asked(engine, [5, 6, at], max_tokens=2, ignore_eos=True) for at in range(12)]
    engine.start()
    ended = long.finish().answer.last_token_at
    assert sum(each.finish().answer.last_token_at < ended for each in short) == 5
    engine.stop()


def test_a_short_request_is_not_kept_behind_all_long_ones(checkpoint: Path) -> None:
    engine = make_engine(checkpoint, max_batch_size=2)
    long = [Asked(engine, [5, 6, at], max_tokens=40, ignore_eos=True) for at in range(12)]
    short = Asked(engine, [5, 6, 7], max_tokens=4, ignore_eos=True)
    engine.start()
    ended = short.finish().answer.last_token_at
    assert sum(each.finish().answer.last_token_at < ended for each in long) <= 2
    engine.stop()


def test_what_was_planned_for_the_cache_stands_beside_what_it_takes(checkpoint: Path) -> None:
    engine = start_engine(checkpoint, kv_cache_bytes=100 * BYTES_PER_TOKEN + 5)
    assert metric(engine, "engine_kv_cache_bytes") == 100 * BYTES_PER_TOKEN
    assert metric(engine, "engine_kv_cache_planned_bytes") == 100 * BYTES_PER_TOKEN + 5
    report = engine.report()
    assert report["kv_cache_planned_bytes"] - report["kv_cache_bytes"] == 5
    engine.stop()
