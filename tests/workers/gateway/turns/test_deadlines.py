"""Until when a client wants its answer."""

import pytest

from tests.manual_clock import ManualClock
from workers.gateway.refusals import Refused
from workers.gateway.turns.deadlines import DEADLINE, TIMEOUT, deadline_in

CLOCK = ManualClock()


def test_the_earlier_of_both_headers_holds() -> None:
    now, moment = CLOCK.monotonic(), b"%d" % round((CLOCK.time() + 2) * 1000)
    assert deadline_in({}, CLOCK) is None
    assert deadline_in({TIMEOUT: b"1500"}, CLOCK) == now + 1.5
    assert deadline_in({DEADLINE: moment}, CLOCK) == pytest.approx(now + 2, abs=0.001)
    assert deadline_in({TIMEOUT: b"1500", DEADLINE: moment}, CLOCK) == now + 1.5
    assert deadline_in({DEADLINE: b"1"}, CLOCK) < now, "long ago"


@pytest.mark.parametrize("value", [b"", b"1.5", b"-1", b"soon", b"9" * 16])
@pytest.mark.parametrize("name", [TIMEOUT, DEADLINE])
def test_one_that_cannot_be_read_is_said_to_be_wrong(name: bytes, value: bytes) -> None:
    with pytest.raises(
        Refused, match=f"`{name.decode()}: {value[:40].decode()}` is no whole number"
    ):
        deadline_in({name: value}, CLOCK)
