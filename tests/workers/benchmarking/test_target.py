"""A deployment under load: asked first, learned from, and told from one that is gone."""

import pytest

from controlplane.domain.benchmarks.order import (
    BenchmarkOrder,
    Lengths,
    Limits,
    Load,
    LoadKind,
    Target,
)
from controlplane.domain.benchmarks.shapes import Kind
from tests.workers.benchmarking.event_clock import EventClock
from workers.benchmarking.target import TargetFailed, TargetRun, level_by_level

TARGET = Target(
    label="qwen, first", url="http://x/sync", route="/v1/chat/completions", kind=Kind.CHAT,
    model="qwen",
)  # fmt: skip


def run_of(clock: EventClock, ask, **changes) -> TargetRun:
    load = Load(kind=LoadKind.CONCURRENCY, levels=(1, 2), seconds=4.0, warm_up_seconds=1.0)
    lengths = Lengths(prompt_tokens=100, completion_tokens=10)
    order = BenchmarkOrder(**{"targets": (TARGET,), "lengths": lengths, "load": load} | changes)
    return TargetRun(order, TARGET, None, clock=clock, ask=ask)  # type: ignore[arg-type]


def answering(clock: EventClock, wrong=lambda timed: None, words: list[int] | None = None):
    """Give an engine that counts two tokens a word and ten beside them."""

    async def ask(request, timed) -> None:
        await clock.pause(0.25)
        count = (
            request.body.count(b" ") if words is None else words.append(request.body.count(b" "))
        )
        timed.prompt_tokens = 10 + 2 * (count or 0)
        timed.first_at, timed.completion_tokens = timed.due_at + 0.1, 10
        timed.ended_at, timed.error = clock.monotonic(), wrong(timed)

    return ask


def test_it_waits_for_a_key_that_gateways_do_not_know_yet_and_for_a_model_that_wakes():
    clock = EventClock()
    errors = ["HTTP 401: unknown", "HTTP 503: waking", None, None]

    clock.run(run_of(clock, answering(clock, lambda timed: errors.pop(0))).begin())

    assert errors == []


@pytest.mark.parametrize(
    ("error", "code"),
    [("HTTP 400: no such field", "EHM-REFUSED"), ("connection refused", "EHM-SILENT")],
)
def test_a_first_answer_that_does_not_come_ends_the_run_and_says_why(error, code):
    clock = EventClock()

    with pytest.raises(TargetFailed) as failed:
        clock.run(run_of(clock, answering(clock, lambda timed: error)).begin())

    assert failed.value.failure.code == code
    assert error in failed.value.failure.sentence


def test_levels_are_measured_in_turn_and_judged():
    clock = EventClock()
    run = run_of(clock, answering(clock), limits=Limits(first_token_p90_seconds=0.05))

    clock.run(level_by_level([run]))

    assert [each["level"] for each in run.stages] == [1, 2]
    assert all("first token 0.1 s" in each["broken_limits"][0] for each in run.stages)


def test_prompts_have_the_length_that_was_asked_for_by_the_servers_count():
    clock = EventClock()
    run = run_of(clock, answering(clock))
    clock.run(level_by_level([run]))
    # A hundred tokens of two a word, but for what the server counts beside.
    assert run.stages[0]["prompt_tokens_mean"] == pytest.approx(100, abs=25)


def test_a_deployment_that_is_gone_ends_the_run_and_keeps_what_it_answered():
    clock = EventClock()
    began = clock.monotonic()
    run = run_of(
        clock,
        answering(clock, lambda timed: "HTTP 503" if clock.monotonic() > began + 15 else None),
        load=Load(kind=LoadKind.CONCURRENCY, levels=(1, 2), seconds=10.0, warm_up_seconds=1.0),
    )

    with pytest.raises(TargetFailed) as failed:
        clock.run(level_by_level([run]))

    assert failed.value.failure.sentence == (
        "`qwen, first` stopped answering at 2 requests at a time (HTTP 503)."
    )
    assert [each["is_partial"] for each in run.stages] == [False, True]
    assert run.stages[0]["requests"] == 40


def test_a_load_that_it_does_not_stand_is_told_from_its_end():
    clock = EventClock()
    state = {"in_flight": 0}
    answer = answering(clock)

    async def ask(request, timed) -> None:
        state["in_flight"] += 1
        is_alone = state["in_flight"] == 1
        try:
            await answer(request, timed)
        finally:
            state["in_flight"] -= 1
        timed.error = None if is_alone else "HTTP 429"

    run = run_of(clock, ask, load=Load(kind=LoadKind.CONCURRENCY, levels=(1, 8, 1), seconds=20.0))
    clock.run(level_by_level([run]))

    assert [each["is_partial"] for each in run.stages] == [False, False, False]
    assert run.stages[2]["error_share"] == 0
