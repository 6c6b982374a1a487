"""Writes outlast a database that is away, as long as the lease does."""

import threading

import pytest
from django.db import OperationalError

from apps.builds.leasing import BUILD
from apps.leases.lease import LEASE_SECONDS, Lease
from tests.manual_clock import ManualClock
from workers.tasks.leasing import Interrupted, LeaseKeeper, retry_on_db_error

pytestmark = pytest.mark.django_db


@pytest.fixture
def stopping() -> threading.Event:
    return threading.Event()


@pytest.fixture
def keeper(stopping: threading.Event) -> LeaseKeeper:
    """A keeper whose sleep moves its clock; nobody renews."""
    lease = Lease(kind=BUILD, id="abcdefgh", token=1, secret="x")
    return LeaseKeeper(lease, stopping=stopping, clock=ManualClock(sleeping_moves_it=True))


def test_a_write_waits_for_a_database_that_comes_back(keeper: LeaseKeeper) -> None:
    answers = iter([OperationalError("away"), OperationalError("away"), None])

    def write() -> str:
        if (error := next(answers)) is not None:
            raise error
        return "written"

    assert retry_on_db_error(keeper, write) == "written"


def test_a_worker_that_is_stopped_gives_a_write_up_after_a_leases_time(
    keeper: LeaseKeeper, stopping: threading.Event
) -> None:
    stopping.set()
    keeper.is_reachable = False

    def write() -> None:
        raise OperationalError("away")

    began_at = keeper.clock.monotonic()
    with pytest.raises(Interrupted):
        retry_on_db_error(keeper, write)
    assert keeper.clock.monotonic() - began_at <= LEASE_SECONDS


def test_a_write_is_given_up_once_the_lease_may_be_anothers(keeper: LeaseKeeper) -> None:
    def write() -> None:
        raise OperationalError("away")

    began_at = keeper.clock.monotonic()
    with pytest.raises(Interrupted):
        retry_on_db_error(keeper, write)
    assert keeper.clock.monotonic() - began_at <= LEASE_SECONDS
