"""A lease is kept by its holder's clock, and given up in time."""

import threading
from collections.abc import Iterator

import pytest
from django.db import OperationalError

from apps.builds.models import Build
from apps.builds.services import build_cancel, build_claim
from apps.leases.lease import LEASE_SECONDS, RENEW_SECONDS, Lease
from apps.leases.services import leases_expire
from tests import factories
from tests.manual_clock import ManualClock
from tests.waiting import wait_for
from workers.tasks.leasing import Interrupted, LeaseKeeper, LeaseStatus, retry_on_db_error
from workers.tasks.leasing import keeper as keeper_module
from workers.tasks.leasing.owner import process_owner

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("broker")]
LOOK_SECONDS = 1.0


@pytest.fixture(autouse=True)
def _database_leases_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing run out on the database's clock, which goes on while the test's stands."""
    monkeypatch.setattr("apps.leases.services.LEASE_SECONDS", 3600.0)


@pytest.fixture
def lease() -> Lease:
    claimed = build_claim(build_id=factories.make_build().id, owner=process_owner("here"))
    assert claimed is not None
    return claimed


@pytest.fixture
def stopping() -> threading.Event:
    return threading.Event()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def keeper(lease: Lease, stopping: threading.Event, clock: ManualClock) -> Iterator[LeaseKeeper]:
    with LeaseKeeper(lease, stopping=stopping, clock=clock) as kept:
        clock.wait_for_waiters()
        yield kept


def row(lease: Lease) -> Build:
    return Build.objects.get(id=lease.id)


def wait_for_status(keeper: LeaseKeeper, status: LeaseStatus) -> None:
    wait_for(lambda: keeper.status is status, what=lambda: f"{status}: {keeper.status}")


def test_a_kept_lease_is_renewed_once_that_is_due(
    keeper: LeaseKeeper, lease: Lease, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[str] = []
    for name in ("lease_check", "lease_renew"):
        ask = getattr(keeper_module, name)
        monkeypatch.setattr(
            keeper_module,
            name,
            lambda ask=ask, name=name, **told: looks.append(name) or ask(**told),
        )
    for count in range(1, 8):
        clock.advance(LOOK_SECONDS)
        wait_for(lambda count=count: len(looks) == count, what=f"look {count}")
        clock.wait_for_waiters()
    renewals = [number for number, name in enumerate(looks) if name == "lease_renew"]
    assert renewals == [1, 4]
    assert (renewals[1] - renewals[0]) * LOOK_SECONDS == RENEW_SECONDS
    assert keeper.status is LeaseStatus.HELD


def test_a_cancel_is_seen_at_the_next_look(
    keeper: LeaseKeeper, lease: Lease, clock: ManualClock
) -> None:
    build_cancel(build=row(lease))
    assert keeper.status is LeaseStatus.HELD
    clock.advance(LOOK_SECONDS)
    wait_for_status(keeper, LeaseStatus.CANCEL)
    with pytest.raises(Interrupted):
        keeper.check()


def test_a_lease_that_was_taken_is_lost_for_good(
    keeper: LeaseKeeper, lease: Lease, clock: ManualClock
) -> None:
    leases_expire(owners=[row(lease).lease_owner])
    clock.advance(LOOK_SECONDS)
    wait_for_status(keeper, LeaseStatus.LOST)
    with pytest.raises(Interrupted):
        retry_on_db_error(keeper, lambda: None)


def test_a_worker_that_is_stopped_is_told(keeper: LeaseKeeper, stopping: threading.Event) -> None:
    stopping.set()
    assert keeper.status is LeaseStatus.STOPPING


def test_a_database_that_stays_away_for_a_lease_loses_it(
    keeper: LeaseKeeper, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(**_named: object) -> None:
        raise OperationalError("away")

    monkeypatch.setattr(keeper_module, "lease_check", away)
    monkeypatch.setattr(keeper_module, "lease_renew", away)
    clock.advance(LOOK_SECONDS)
    wait_for(lambda: not keeper.is_reachable, what="its first look")
    # Its claim counts as a look older than it is: better a moment too early than too late.
    clock.advance(LEASE_SECONDS - 2 * LOOK_SECONDS - 0.1)
    assert keeper.status is LeaseStatus.HELD
    clock.advance(0.1)
    assert keeper.status is LeaseStatus.LOST
    assert not keeper.is_reachable


def test_a_database_that_comes_back_in_time_costs_nothing(
    keeper: LeaseKeeper, lease: Lease, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(**_named: object) -> None:
        raise OperationalError("away")

    with monkeypatch.context() as patched:
        patched.setattr(keeper_module, "lease_check", away)
        clock.advance(LOOK_SECONDS)
        wait_for(lambda: not keeper.is_reachable, what="its first look")
        clock.wait_for_waiters()
    clock.advance(LOOK_SECONDS)
    wait_for(lambda: keeper.is_reachable, what="an answer")
    assert keeper.status is LeaseStatus.HELD
