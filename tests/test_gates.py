import os
import subprocess
import sys

from tests.gates import Gates
from tests.waiting import wait_for

PASSES = (
    "import sys; from workers.gates import pass_gate; [pass_gate(each) for each in sys.argv[1:]]"
)


def start(gates: Gates, *places: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-c", PASSES, *places], env={**os.environ, **gates.environment}
    )


def test_a_process_stands_at_a_held_gate_until_it_is_let_go() -> None:
    with Gates() as gates:
        gates.hold("second")
        process = start(gates, "first", "second", "third")
        assert gates.wait_for_arrival("second") == process.pid
        assert gates.came("first") == [process.pid]
        assert gates.came("third") == []
        gates.let_go("second")
        assert gates.wait_for_arrival("third") == process.pid
        assert process.wait() == 0


def test_one_of_those_that_stand_can_be_let_go_alone() -> None:
    with Gates() as gates:
        gates.hold("place")
        one, other = start(gates, "place"), start(gates, "place")
        wait_for(lambda: len(gates.came("place")) == 2, what="both")
        gates.let_one_go("place", one.pid)
        assert one.wait() == 0
        assert other.poll() is None
        gates.let_go("place")
        assert other.wait() == 0


def test_whoever_stands_when_the_keeper_goes_or_comes_later_passes() -> None:
    with Gates() as gates:
        gates.hold("place")
        process = start(gates, "place")
        gates.wait_for_arrival("place")
    assert process.wait() == 0
    assert start(gates, "place").wait() == 0
