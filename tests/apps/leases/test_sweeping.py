"""What lost its worker or its message is found, whatever kind of work it is."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.leases.kinds import lease_kinds
from apps.leases.services import lease_release
from apps.leases.sweeping import Swept, leases_sweep
from controlplane import clock
from tests.apps.leases.work import Work

pytestmark = pytest.mark.django_db


def test_what_a_dead_worker_left_waits_again_and_is_sent(work: Work, sent: list[str]) -> None:
    work.claim()
    work.grow_old()
    assert leases_sweep(work.kind) == Swept()
    work.expire()
    # Where waiting is no state of its own, the work simply has nobody any more.
    assert leases_sweep(work.kind) == Swept(requeued=bool(work.kind.waiting), sent=1)
    assert sent == [work.id]
    assert work.claim("next").token > 1


def test_fresh_work_is_left_to_the_message_that_is_on_its_way(work: Work, sent: list[str]) -> None:
    assert leases_sweep(work.kind) == Swept()
    work.grow_old()
    assert leases_sweep(work.kind).sent == 1
    assert sent == [work.id]


def test_where_all_work_is_held_a_sweep_asks_once_whether_there_is_any(work: Work) -> None:
    work.claim()
    with CaptureQueriesContext(connection) as capture_queries_context:
        assert leases_sweep(work.kind) == Swept()
    assert sum("lease_expires_at" in each["sql"] for each in capture_queries_context) == 1


def test_work_that_ends_its_worker_each_time_does_not_go_round_for_ever(
    work: Work, sent: list[str]
) -> None:
    most = work.kind.most_claims
    for _ in range(most):
        work.claim()
        work.expire()
    assert leases_sweep(work.kind).given_up == 1
    work.row.refresh_from_db()
    assert work.row.state == "failed"
    ended_at = work.row.fetched_at if work.kind.name == "facts" else work.row.finished_at
    assert ended_at is not None
    assert work.try_to_claim() is None
    assert sent == []


@pytest.mark.parametrize("name", [each.name for each in lease_kinds().values() if each.cancelled])
def test_what_was_to_be_cancelled_and_lost_its_worker_ends_so(
    name: str, sent: list[str], broker: str
) -> None:
    work = Work(name)
    work.claim()
    work.update(**{str(work.kind.cancel_column): clock.now()})
    assert leases_sweep(work.kind).cancelled == ()
    work.expire()
    assert leases_sweep(work.kind).cancelled == (work.row.pk,)
    work.row.refresh_from_db()
    state = work.row.status if name == "async_request" else work.row.state
    assert state.lower().startswith("cancel")
    assert work.row.finished_at is not None
    assert work.try_to_claim() is None


def test_a_worker_that_is_stopped_in_order_does_not_bring_work_nearer_to_its_end(
    work: Work, sent: list[str]
) -> None:
    for _ in range(work.kind.most_claims):
        lease_release(lease=work.claim())
    assert leases_sweep(work.kind).given_up == 0
    work.claim()


def test_work_that_is_wanted_anew_while_it_is_held_can_be_handed_over(
    work: Work, sent: list[str]
) -> None:
    lease = work.claim()
    work.update(lease_claims=0)
    lease_release(lease=lease)
    work.claim()


def test_a_sweep_stands_back_where_another_is_at_it(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    work.grow_old()
    monkeypatch.setattr("apps.leases.sweeping._is_alone", lambda _kind: False)
    assert leases_sweep(work.kind) == Swept()
