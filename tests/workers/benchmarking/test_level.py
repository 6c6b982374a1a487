"""A level of load: who is asked when, what is left out, and when it is given up."""

import pytest

from controlplane.domain.benchmarks.order import Load, LoadKind
from controlplane.domain.benchmarks.timings import UNFINISHED
from tests.workers.benchmarking.event_clock import EventClock
from workers.benchmarking.level import Level

SECONDS, WARM_UP = 10.0, 2.0


def measured(clock: EventClock, kind: LoadKind, level: float, ask, *, drain=30.0):
    load = Load(kind=kind, levels=(level,), seconds=SECONDS, warm_up_seconds=WARM_UP)
    cpu = iter([1.0, 10.0])
    made = Level(
        ask, load, level, seed=1, drain_seconds=drain, cpu_seconds=lambda: next(cpu), clock=clock
    )
    return made, clock.run(made.run())


def answers(clock: EventClock, seconds=0.5, tokens=11):
    async def ask(timed) -> None:
        await clock.pause(seconds / 5)
        timed.first_at = clock.monotonic()
        await clock.pause(4 * seconds / 5)
        timed.completion_tokens, timed.prompt_tokens = tokens, 7
        timed.ended_at = clock.monotonic()

    return ask


def test_so_many_at_a_time_are_asked_one_after_another_and_the_warm_up_is_left_out():
    clock = EventClock()

    _, report = measured(clock, LoadKind.CONCURRENCY, 4, answers(clock))

    assert report["requests_per_second"] == pytest.approx(8.0)
    assert report["completion_tokens_per_second"] == pytest.approx(88.0, rel=0.02)
    assert report["concurrency_mean"] == pytest.approx(4.0)
    assert (report["warm_up_requests"], report["requests"]) == (16, 80)
    assert report["first_token_seconds"]["p90"] == pytest.approx(0.1)
    assert report["inter_token_seconds"]["p90"] == pytest.approx(0.04)
    assert report["client_cpu_share"] == 0.9
    assert report["is_client_limited"]


def test_at_a_rate_a_server_that_stands_still_is_charged_for_all_who_wait():
    clock = EventClock()
    began = clock.monotonic()
    quick = answers(clock, seconds=0.05)

    async def stalls(timed) -> None:
        stall_end = began + WARM_UP + 6.0
        if began + WARM_UP + 1.0 <= clock.monotonic() < stall_end:
            await clock.pause(stall_end - clock.monotonic())
        await quick(timed)

    _, report = measured(clock, LoadKind.RATE, 20, stalls)

    # Half of the window stood still: the requests due then waited up to five seconds.
    assert report["end_to_end_seconds"]["p99"] > 4.5
    assert report["end_to_end_seconds"]["p50"] > 0.05
    assert report["requests"] == pytest.approx(20 * SECONDS, rel=0.25)
    assert report["send_delay_p99_seconds"] < 0.001


def test_what_is_not_answered_while_the_load_lasts_is_an_error():
    clock = EventClock()

    _, report = measured(clock, LoadKind.RATE, 5, answers(clock, seconds=500.0), drain=3.0)

    assert report["requests"] == 0
    assert set(report["errors_by_reason"]) == {UNFINISHED}
    assert report["error_share"] == 1.0


def test_the_load_goes_on_until_what_was_measured_is_answered():
    clock = EventClock()

    _, report = measured(clock, LoadKind.CONCURRENCY, 1, answers(clock, seconds=7.0))

    # Due at 0 and 7 seconds: the second counts, and ends after the window.
    assert report["requests"] == 1
    assert report["end_to_end_seconds"]["p50"] == pytest.approx(7.0)
    assert report["error_share"] == 0.0


def test_an_answer_that_outlasts_the_whole_window_gives_it_the_tokens_that_came_in_it():
    clock = EventClock()

    _, report = measured(clock, LoadKind.CONCURRENCY, 1, answers(clock, seconds=25.0, tokens=100))

    # From 5 to 25 s: seven of its seconds lie within the window.
    assert report["completion_tokens_per_second"] == pytest.approx(100 * 7 / 20 / SECONDS, rel=0.01)
    assert report["error_share"] is None


def test_a_server_that_refuses_everything_is_given_up_and_what_it_answered_before_counts():
    clock = EventClock()
    began, good = clock.monotonic(), answers(clock)

    async def dies(timed) -> None:
        if clock.monotonic() < began + WARM_UP + 3.0:
            await good(timed)
        else:
            timed.ended_at, timed.error = clock.monotonic(), "HTTP 503"

    made, report = measured(clock, LoadKind.CONCURRENCY, 2, dies)

    assert made.is_gone
    assert made.last_error == "HTTP 503"
    assert report["seconds"] < SECONDS
    assert report["requests"] == pytest.approx(12, abs=2)
    assert report["errors_by_reason"]["HTTP 503"] > 20
