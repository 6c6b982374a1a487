"""One holder at a time, and the writes of an earlier one are refused: the same for all work."""

import threading

import pytest
from django.db import connection

from apps.leases.kinds import lease_kinds
from apps.leases.lease import Lease, LeaseLost
from apps.leases.services import (
    lease_check,
    lease_claim,
    lease_end,
    lease_held,
    lease_is_dead,
    lease_owners,
    lease_release,
    lease_renew,
    leases_expire,
)
from tests.apps.leases.work import KINDS, Work

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]


def test_every_kind_of_work_is_held_to_what_these_tests_say() -> None:
    assert set(lease_kinds()) == set(KINDS)


@pytest.mark.django_db(transaction=True)
def test_of_many_workers_one_gets_the_work() -> None:
    work = Work("build")
    won: list[Lease | None] = []

    def try_to_claim(name: str) -> None:
        won.append(lease_claim(kind=work.kind, id=work.id, owner=name))
        connection.close()

    threads = [threading.Thread(target=try_to_claim, args=(f"w{n}",)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len([lease for lease in won if lease]) == 1


def test_the_secret_of_a_lease_is_kept_as_a_hash_and_not_shown(work: Work) -> None:
    lease = work.claim()
    work.row.refresh_from_db()
    assert lease.secret not in (work.row.lease_secret_sha256, repr(lease))
    assert len(work.row.lease_secret_sha256) == 64


def test_a_held_lease_is_renewed_by_its_holder_and_taken_by_nobody(work: Work) -> None:
    lease = work.claim()
    work.row.refresh_from_db()
    before = work.row.lease_expires_at
    assert not lease_check(lease=lease).is_cancel_requested
    assert not lease_renew(lease=lease, connection=connection).is_cancel_requested
    work.row.refresh_from_db()
    assert work.row.lease_expires_at > before
    assert work.try_to_claim() is None


def test_a_lease_that_ran_out_is_renewed_as_long_as_nobody_has_taken_it(work: Work) -> None:
    late = work.claim()
    work.expire()
    lease_check(lease=late)
    lease_renew(lease=late)
    assert work.try_to_claim() is None
    work.expire()
    work.claim("next")
    for ask in (lease_renew, lease_check):
        with pytest.raises(LeaseLost):
            ask(lease=late)


def test_work_that_has_ended_is_nobodys_to_renew(work: Work) -> None:
    lease = work.claim()
    assert lease_end(lease=lease)
    for ask in (lease_renew, lease_check):
        with pytest.raises(LeaseLost):
            ask(lease=lease)


def test_an_expired_lease_is_taken_with_a_higher_token_and_its_late_holder_refused(
    work: Work,
) -> None:
    late = work.claim("late")
    work.expire()
    taken = work.claim("next")
    assert taken.token == late.token + 1
    with pytest.raises(LeaseLost), lease_held(late):
        pass
    assert not lease_end(lease=late)
    lease_release(lease=late)
    with lease_held(taken) as row:
        assert (row.lease_owner, row.lease_claims) == ("next", 2)


def test_work_ends_whatever_its_result_spells(work: Work) -> None:
    text = "a\0b and half \ud83d"
    is_test = work.kind.name == "secret_test"
    values = (
        {"sentence": text} if is_test else {"failure": {"sentence": text, "loss": float("nan")}}
    )
    assert lease_end(lease=work.claim(), **values)
    work.row.refresh_from_db()
    kept = work.row.sentence if is_test else work.row.failure["sentence"]
    assert kept == "ab and half "


def test_work_that_is_handed_over_waits_is_sent_and_can_be_taken_at_once(
    work: Work, sent: list[str]
) -> None:
    lease = work.claim()
    lease_release(lease=lease)
    assert sent == [work.id]
    assert work.is_waiting()
    with pytest.raises(LeaseLost):
        lease_renew(lease=lease)
    assert work.claim("next").token > lease.token


def test_leases_of_dead_owners_end_early(work: Work) -> None:
    lease = work.claim("dead")
    assert lease_owners() == ["dead"]
    assert leases_expire(owners=["alive"]) == 0
    assert leases_expire(owners=["dead"]) == 1
    assert not lease_end(lease=lease)
    assert work.try_to_claim() is not None


def test_a_marker_is_dead_once_its_token_is_not_that_of_a_live_lease(work: Work) -> None:
    lease = work.claim()
    assert lease.marker == f"{work.kind.name}/{work.id}/{lease.token}"
    assert not lease_is_dead(lease.marker)
    work.expire()
    assert lease_is_dead(lease.marker)
    assert not lease_is_dead(f"{work.kind.name}/unknown1/1")
    assert not lease_is_dead("replica/abcde/1")
