"""Any one process killed or stopped under counted traffic: nothing is lost but what was on it.

`benchmarks/recovery.py` tells how soon, and stops each for a minute.
"""

from collections.abc import Iterator

import pytest

from benchmarks.recovery_parts.clocks import CAN_BE_OFF
from benchmarks.recovery_parts.faults import CONTROL_PLANE, OTHER_CLOCKS, Fault, cost_of
from benchmarks.recovery_parts.serving import Serving, serving
from tests.waiting import wait_for

pytestmark = [pytest.mark.recovery, pytest.mark.e2e]
_OTHERS = (
    *(Fault(kind=kind) for kind in ("web", "agent", "control", "valkey")),
    Fault(kind="web", seconds=20),
    Fault(kind="agent", seconds=20),
)
"""Each of which a test of its own part kills or stops in `make test`."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with serving(tmp_path_factory.mktemp("up"), each_second=30) as running:
        yield running


@pytest.mark.parametrize(
    "fault",
    [
        Fault(kind="postgres"),
        *(pytest.param(each, marks=pytest.mark.long) for each in _OTHERS),
    ],
    ids=lambda fault: fault.name,
)
def test_without_a_part_of_the_control_plane_every_request_is_answered(
    served: Serving, fault: Fault
) -> None:
    assert fault.kind in CONTROL_PLANE
    cost = cost_of(served, fault)
    assert cost.asked > 0
    assert (cost.lost, cost.doubled, cost.usage_difference) == (0, 0, 0), cost
    assert (cost.engines_replaced, cost.orphans, cost.leases_left) == (0, 0, 0), cost
    assert_every_series_is_right(served)


@pytest.mark.long
@pytest.mark.skipif(not CAN_BE_OFF, reason="libfaketime is not here: apt-get install faketime")
@pytest.mark.parametrize("fault", OTHER_CLOCKS, ids=lambda fault: fault.name)
def test_a_clock_40_days_off_costs_no_request_and_no_usage(served: Serving, fault: Fault) -> None:
    cost = cost_of(served, fault)
    assert cost.asked > 0
    assert (cost.lost_beyond_in_flight, cost.doubled, cost.usage_difference) == (0, 0, 0), cost
    assert (cost.engines_replaced, cost.orphans, cost.leases_left) == (0, 0, 0), cost


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("gateway", marks=pytest.mark.long),  # tests/workers/gateway/test_crash.py
        "engine",
    ],
)
def test_what_is_killed_takes_along_no_more_than_was_on_it(served: Serving, kind: str) -> None:
    cost = cost_of(served, Fault(kind=kind))
    assert cost.asked > 0
    assert (cost.lost_beyond_in_flight, cost.doubled, cost.usage_difference) == (0, 0, 0), cost
    assert (cost.engines_replaced, cost.orphans, cost.leases_left) == (kind == "engine", 0, 0), cost
    assert_every_series_is_right(served)


def assert_every_series_is_right(served: Serving) -> None:
    """Series are rolled up every ten seconds: then all say what the clients counted."""

    def told() -> set[tuple[int, int]]:
        return {*served.series().values()}

    wanted = served.traffic.answered()
    wait_for(lambda: told() == {wanted}, what=f"{wanted} in every series")
    assert len(served.series()) == 4 * 3 + 1, "four breakdowns, three resolutions, running sums"
