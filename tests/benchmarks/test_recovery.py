"""Each harm of the recovery benchmark counts for the bar of its kind."""

from benchmarks.recovery import BARS
from benchmarks.recovery_parts.building import worst_by_kind
from benchmarks.recovery_parts.faults import Cost, Fault
from benchmarks.recovery_parts.hosts import CutCost, cuts, worst_of_cuts
from benchmarks.recovery_parts.table import worst_of


def test_the_worst_of_each_kind_is_judged_and_what_has_no_kind_by_the_true_state() -> None:
    seconds = {
        "worker_killed_in_gate_seconds": 3.0,
        "broker_killed_in_fetch_seconds": 4.0,
        "cancelled_in_gate_seconds": 1.5,
        "cancelled_waiting_for_devices_seconds": 1.0,
        "cancel_seen_in_gate_seconds": 0.5,
        "given_back_in_inspect_seconds": 2.0,
        "database_gone_for_30_s_in_inspect_seconds": 15.0,
    }
    worst = worst_by_kind(seconds)
    assert worst == {
        "true_state_seconds_max": 4.0,
        "cancelled_seconds_max": 1.5,
        "cancel_seen_seconds_max": 0.5,
        "given_back_seconds_max": 2.0,
        "database_seconds_max": 15.0,
    }
    assert set(worst) <= set(BARS)


def _cost(**changes: float) -> Cost:
    columns = dict.fromkeys(Cost.__dataclass_fields__, 0)
    return Cost(**{**columns, "fault": "", "words": (), **changes})


def test_what_is_lost_counts_by_what_was_harmed() -> None:
    worst = worst_of(
        [
            (Fault(kind="web"), _cost(lost=1, lost_beyond_in_flight=1, true_after_seconds=3.0)),
            (Fault(kind="engine"), _cost(lost=4, engines_replaced=1, true_after_seconds=7.5)),
            (Fault(kind="engine", seconds=60), _cost(engines_replaced=1)),
        ]
    )
    assert worst["lost_without_control_plane"] == 1
    assert worst["lost_beyond_in_flight"] == 1
    assert worst["engines_replaced_needlessly"] == 1
    assert worst["faults_true_seconds_max"] == 7.5
    assert set(worst) <= set(BARS)


def _cut_cost(**changes: object) -> CutCost:
    columns: dict[str, object] = dict.fromkeys(CutCost.__dataclass_fields__, 0)
    return CutCost(**{**columns, "cut": "", "words": (), **changes})  # type: ignore[arg-type]


def test_an_engine_may_be_replaced_where_its_host_was_powered_off() -> None:
    broker, power = (
        next(cut for cut in cuts(short_seconds=1, long_seconds=1) if cut.name == name)
        for name in ("from the broker", "powered off")
    )
    worst = worst_of_cuts(
        [
            (broker, _cut_cost(lost_at_its_gateway=2, true_after_seconds=4.0)),
            (power, _cut_cost(engines_replaced=1, lost_at_its_gateway=None)),
        ]
    )
    assert worst["lost_at_its_own_gateway"] == 2
    assert worst["engines_replaced_by_cuts"] == 0
    assert worst["cuts_true_seconds_max"] == 4.0
    assert set(worst) <= set(BARS)
