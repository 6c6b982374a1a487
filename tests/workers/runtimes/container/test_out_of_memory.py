"""When Docker's word that memory ran out comes before the end of the engine, after it, or never."""

from typing import Any

import pytest

from tests.manual_clock import ManualClock
from workers.runtimes.container.failures import ContainerRefused
from workers.runtimes.container.foreground import _WORD_SECONDS, Foreground
from workers.runtimes.container.order import Order

KILLED = 137


class Ended:
    """Docker's engine as it tells of a container that has ended with this status."""

    def __init__(self, status: int, *, looks_until_word: int) -> None:
        self._status, self._looks_left = status, looks_until_word

    def wait(self, container: str) -> dict[str, Any]:
        return {"StatusCode": self._status}

    def inspect_container(self, container: str) -> dict[str, Any]:
        self._looks_left -= 1
        return {"State": {"OOMKilled": self._looks_left < 0}}


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(sleeping_moves_it=True)


@pytest.fixture
def foreground(clock: ManualClock) -> Foreground:
    order = Order(
        image_id="sha256:a", reference="a", lease="replica/aaaaa/1", instance="here", mounts=(),
        environment={}, failure_file="failure.json",
    )  # fmt: skip
    outcome = Foreground(order, [], {}, clock=clock)
    outcome._is_started = True
    return outcome


@pytest.mark.parametrize(("status", "looks"), [(KILLED, 0), (KILLED, 3), (1, 0)])
def test_the_word_is_awaited_for_an_engine_that_was_killed(
    foreground: Foreground, status: int, looks: int
) -> None:
    with pytest.raises(ContainerRefused) as caught_error:
        foreground._status(Ended(status, looks_until_word=looks))
    assert caught_error.value.failure.code == "EHN-DOCKER-OOM"


@pytest.mark.parametrize(("status", "seconds"), [(0, 0), (1, 0), (KILLED, _WORD_SECONDS)])
def test_without_the_word_the_status_is_told_as_it_is(
    foreground: Foreground, clock: ManualClock, status: int, seconds: float
) -> None:
    assert foreground._status(Ended(status, looks_until_word=1000)) == status
    assert sum(clock.slept) == pytest.approx(seconds, abs=0.15)
