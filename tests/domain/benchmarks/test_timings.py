"""The arithmetic of a level: what counts, from when, and into which second."""

from controlplane.domain.benchmarks.timings import UNFINISHED, Timed, Window, summary

WINDOW = Window(begin=10.0, until=20.0)


def asked(due: float, first: float | None, ended: float | None, **more) -> Timed:
    return Timed(due_at=due, sent_at=due, first_at=first, ended_at=ended, **more)


def test_tokens_count_by_the_part_of_their_time_that_lies_within_the_window():
    begun_before = asked(4.0, 8.0, 12.0, completion_tokens=40)  # half of it within
    within = asked(11.0, 12.0, 14.0, completion_tokens=21)
    ends_after = asked(15.0, 15.0, 25.0, completion_tokens=100)  # half of it

    report = summary([begun_before, within, ends_after], WINDOW, is_over=True)

    assert report["completion_tokens_per_second"] == (20 + 21 + 50) / 10
    assert report["requests_per_second"] == 0.2
    assert (report["requests"], report["warm_up_requests"]) == (2, 1)
    assert report["inter_token_seconds"]["p50"] == 0.1


def test_latency_counts_from_when_a_request_was_due_however_late_it_was_sent():
    late = Timed(due_at=11.0, sent_at=14.0, first_at=14.5, ended_at=15.0, completion_tokens=2)

    report = summary([late], WINDOW, is_over=True)

    assert report["first_token_seconds"]["p90"] == 3.5
    assert report["end_to_end_seconds"]["p90"] == 4.0
    assert report["send_delay_p99_seconds"] == 3.0
    assert report["concurrency_mean"] == 0.1


def test_percentiles_are_by_nearest_rank():
    requests = [asked(10.0, None, 10.0 + number) for number in range(1, 10)]

    assert summary(requests, WINDOW, is_over=True)["end_to_end_seconds"] == {
        "p50": 5.0, "p90": 9.0, "p99": 9.0,
    }  # fmt: skip


def test_what_failed_and_what_was_never_answered_are_errors_once_the_level_is_over():
    requests = [
        asked(11.0, 11.5, 12.0), asked(12.0, None, 12.1, error="HTTP 503"),
        asked(13.0, 13.5, None), asked(9.0, None, 9.5, error="HTTP 500"),
    ]  # fmt: skip

    over = summary(requests, WINDOW, is_over=True)
    going_on = summary(requests, WINDOW, is_over=False)

    assert over["errors_by_reason"] == {"HTTP 503": 1, UNFINISHED: 1}
    assert (over["error_share"], going_on["error_share"]) == (0.6667, 0.5)


def test_a_level_in_which_nothing_was_answered_has_no_times_and_no_share():
    report = summary([], WINDOW, is_over=True)

    assert report["error_share"] is None
    assert report["first_token_seconds"] is None
    assert report["completion_tokens_per_second"] == 0.0


def test_requests_that_carry_several_texts_count_each():
    report = summary([asked(10.0, None, 11.0, texts=16)], WINDOW, is_over=True)

    assert (report["texts_per_second"], report["requests_per_second"]) == (1.6, 0.1)
