import subprocess

import pytest

from tests import waiting
from tests.waiting import wait_for


def test_the_first_true_value_comes_back() -> None:
    values = iter([0, "", "found"])
    looks: list[None] = []
    assert (
        wait_for(lambda: next(values), what="it", meanwhile=lambda: looks.append(None)) == "found"
    )
    assert len(looks) == 2


def test_what_takes_much_is_done_in_the_first_of_so_many_looks() -> None:
    acts: list[int] = []
    act = waiting.seldom(lambda: acts.append(1), looks=3)
    counts = []
    for _ in range(7):
        act()
        counts.append(len(acts))
    assert counts == [1, 1, 1, 2, 2, 2, 3]


def test_the_deadline_says_what_was_waited_for_and_how_processes_stand(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(waiting, "DEADLINE_SECONDS", 0.0)
    process = subprocess.Popen(["sleep", "600"])
    try:
        with pytest.raises(AssertionError, match="the moon") as raised:
            wait_for(lambda: False, what=lambda: "the moon")
        assert f"{process.pid} sleeping" in str(raised.value)
        assert "sleep 600" in str(raised.value)
    finally:
        process.kill()
        process.wait()
