"""A lease is kept by its holder's clock, and given up in time."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import psutil
import pytest
from django.db import OperationalError, connections

from apps.builds.models import Build
from apps.builds.services.claims import build_claim
from apps.builds.services.requests import build_cancel
from apps.leases.database_clock import ClockTimestamp
from apps.leases.lease import LEASE_SECONDS, RENEW_SECONDS, Lease
from apps.leases.services import lease_renew, leases_expire
from tests import factories
from tests.manual_clock import ManualClock
from tests.waiting import wait_for
from workers.tasks.leasing import Interrupted, LeaseKeeper, LeaseStatus, retry_on_db_error
from workers.tasks.leasing import keeper as keeper_module
from workers.tasks.leasing.owner import process_owner

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("broker")]
LOOK_SECONDS = 1.0
StandStill = Callable[[], AbstractContextManager[None]]


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
def postgres_stands_still(data_dir: Path) -> StandStill:
    """Stops every process of PostgreSQL for as long as a `with` block lasts."""
    postmaster = int((data_dir / "postgres" / "postmaster.pid").read_text().split()[0])

    @contextmanager
    def standing_still() -> Iterator[None]:
        entries = [*psutil.Process(postmaster).children(recursive=True), psutil.Process(postmaster)]
        for each in entries:
            os.kill(each.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for each in entries:
                os.kill(each.pid, signal.SIGCONT)

    return standing_still


@pytest.fixture
def stopping() -> threading.Event:
    return threading.Event()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def others() -> threading.Event:
    """Whether the control plane says that its database answers."""
    return threading.Event()


@pytest.fixture
def keeper(
    lease: Lease, stopping: threading.Event, others: threading.Event, clock: ManualClock
) -> Iterator[LeaseKeeper]:
    with LeaseKeeper(lease, stopping=stopping, answers_others=others.is_set, clock=clock) as kept:
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


def away(**_named: object) -> None:
    raise OperationalError("away")


@pytest.fixture
def gone(keeper: LeaseKeeper, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """The database has gone away, and the keeper has noticed."""
    monkeypatch.setattr(keeper_module, "lease_check", away)
    monkeypatch.setattr(keeper_module, "lease_renew", away)
    clock.advance(LOOK_SECONDS)
    wait_for(lambda: not keeper.is_reachable, what="its first look")


def pass_looks(clock: ManualClock, seconds: float) -> None:
    """Let so many seconds pass, in each of which it looks."""
    for _ in range(int(seconds)):
        clock.wait_for_waiters()
        clock.advance(LOOK_SECONDS)


@pytest.mark.usefixtures("gone")
def test_a_database_that_is_away_for_all_costs_nothing_however_long(
    keeper: LeaseKeeper, clock: ManualClock, lease: Lease, monkeypatch: pytest.MonkeyPatch
) -> None:
    pass_looks(clock, 20)
    assert keeper.is_overdue
    assert keeper.status is LeaseStatus.HELD
    Build.objects.filter(id=lease.id).update(lease_expires_at=ClockTimestamp())
    monkeypatch.setattr(keeper_module, "lease_renew", lease_renew)
    pass_looks(clock, 1)
    wait_for(lambda: keeper.is_reachable, what="an answer")
    assert keeper.status is LeaseStatus.HELD
    assert not keeper.is_overdue
    assert build_claim(build_id=lease.id, owner="another") is None


@pytest.mark.usefixtures("gone")
def test_a_worker_that_alone_is_cut_off_gives_its_lease_up_in_time(
    keeper: LeaseKeeper, clock: ManualClock, others: threading.Event
) -> None:
    others.set()
    pass_looks(clock, 1)
    wait_for(lambda: keeper._others_since is not None, what="a word of the control plane")
    # Its claim counts as a look older than it is: better a moment too early than too late.
    clock.advance(LEASE_SECONDS - 3 * LOOK_SECONDS - 0.1)
    assert keeper.status is LeaseStatus.HELD
    clock.advance(0.1)
    assert keeper.status is LeaseStatus.LOST
    assert not keeper.is_reachable


@pytest.mark.usefixtures("gone")
def test_a_database_that_answers_others_first_has_a_moment_to_answer_here(
    keeper: LeaseKeeper, clock: ManualClock, others: threading.Event
) -> None:
    pass_looks(clock, 20)
    others.set()
    pass_looks(clock, 1)
    wait_for(lambda: keeper._others_since is not None, what="a word of the control plane")
    assert keeper.status is LeaseStatus.HELD
    pass_looks(clock, 5)
    wait_for_status(keeper, LeaseStatus.LOST)


def test_a_process_that_stood_still_for_a_lease_has_lost_it(
    keeper: LeaseKeeper, clock: ManualClock
) -> None:
    keeper._renewed_at -= LEASE_SECONDS
    assert keeper.status is LeaseStatus.LOST


def test_a_postgres_that_stands_still_for_a_minute_costs_nothing(
    keeper: LeaseKeeper, clock: ManualClock, lease: Lease, postgres_stands_still: StandStill
) -> None:
    Build.objects.filter(id=lease.id).update(lease_expires_at=ClockTimestamp())
    connections.close_all()
    with postgres_stands_still():
        clock.advance(LOOK_SECONDS)
        wait_for(lambda: keeper._is_asking, what="a look that hangs")
        clock.advance(60)
        assert keeper.is_overdue
        assert keeper.status is LeaseStatus.HELD
    wait_for(lambda: not keeper.is_overdue, what="a renewal")
    assert keeper.status is LeaseStatus.HELD
    assert build_claim(build_id=lease.id, owner="another") is None


def test_a_postgres_that_stood_still_while_another_took_the_work_says_so(
    keeper: LeaseKeeper, clock: ManualClock, lease: Lease, postgres_stands_still: StandStill
) -> None:
    leases_expire(owners=[row(lease).lease_owner])
    connections.close_all()
    with postgres_stands_still():
        clock.advance(LOOK_SECONDS)
        wait_for(lambda: keeper._is_asking, what="a look that hangs")
    wait_for_status(keeper, LeaseStatus.LOST)


def test_a_database_that_comes_back_in_time_costs_nothing(
    keeper: LeaseKeeper, lease: Lease, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(keeper_module, "lease_check", away)
        clock.advance(LOOK_SECONDS)
        wait_for(lambda: not keeper.is_reachable, what="its first look")
        clock.wait_for_waiters()
    clock.advance(LOOK_SECONDS)
    wait_for(lambda: keeper.is_reachable, what="an answer")
    assert keeper.status is LeaseStatus.HELD
