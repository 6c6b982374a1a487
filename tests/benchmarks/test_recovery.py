"""Each harm of the recovery benchmark counts for the bar of its kind."""

from benchmarks.recovery import BARS, _worst_by_kind


def test_the_worst_of_each_kind_is_judged_and_what_has_no_kind_by_the_true_state() -> None:
    seconds = {
        "worker_killed_in_gate_seconds": 3.0,
        "broker_killed_in_fetch_seconds": 4.0,
        "cancelled_in_gate_seconds": 1.5,
        "cancelled_waiting_for_cards_seconds": 1.0,
        "cancel_seen_in_gate_seconds": 0.5,
        "given_back_in_inspect_seconds": 2.0,
    }
    worst = _worst_by_kind(seconds)
    assert worst == {
        "true_state_seconds_max": 4.0,
        "cancelled_seconds_max": 1.5,
        "cancel_seen_seconds_max": 0.5,
        "given_back_seconds_max": 2.0,
    }
    assert set(worst) <= set(BARS)
