"""Time in which the database could not be asked counts against nobody's lease."""

from datetime import timedelta

import pytest

from apps.fleet.models import Listening
from apps.fleet.services.listening import listening_beat
from apps.leases.lease import LEASE_SECONDS
from apps.leases.redeeming import lease_redeem
from apps.leases.services import lease_is_dead, lease_renew
from apps.leases.sweeping import Swept, leases_sweep
from controlplane import clock
from tests.apps.leases.work import Work

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _a_lease_as_long_as_the_products(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apps.leases.services.LEASE_SECONDS", LEASE_SECONDS)


def beats(*, began: float, last: float = -3600.0) -> None:
    """Have somebody beaten from so many seconds ago until so many seconds ago; negative: ahead."""
    now = clock.now()
    values = {"since": now, "unbroken_since": now - timedelta(seconds=began)}
    values["last_beat_at"] = now - timedelta(seconds=last)
    Listening.objects.update_or_create(id=1, defaults=values)


def test_a_database_that_has_just_come_back_takes_no_lease_away(
    work: Work, sent: list[str]
) -> None:
    lease = work.claim()
    work.grow_old()
    work.expire()
    beats(began=1)
    assert work.try_to_claim() is None
    assert not lease_is_dead(lease.marker)
    assert leases_sweep(work.kind) == Swept()
    lease_renew(lease=lease)


def test_nor_does_one_that_nobody_has_asked_since(work: Work, sent: list[str]) -> None:
    lease = work.claim()
    work.expire()
    beats(began=7200, last=30)
    assert work.try_to_claim() is None
    assert not lease_is_dead(lease.marker)


def test_who_did_not_renew_for_a_lease_while_it_could_be_asked_has_lost_it(
    work: Work, sent: list[str]
) -> None:
    lease = work.claim()
    work.expire()
    beats(began=LEASE_SECONDS + 1)
    assert lease_is_dead(lease.marker)
    assert work.claim("next").token > lease.token


def test_work_that_nobody_holds_waits_for_no_beat(work: Work) -> None:
    beats(began=0, last=30)
    assert work.try_to_claim() is not None


def test_a_live_holder_gets_its_secrets_right_after_an_outage(work: Work) -> None:
    lease = work.claim()
    work.expire()
    values = {"name": work.kind.name, "id": work.id, "token": lease.token}
    assert lease_redeem(**values, secret=lease.secret) is None
    beats(began=1)
    if work.kind.name == "build":
        assert lease_redeem(**values, secret=lease.secret) is not None
    assert lease_redeem(**values, secret="another") is None


def test_a_beat_after_a_gap_begins_anew_though_nobody_was_ever_heard() -> None:
    beats(began=7200, last=30)
    listening_beat()
    answer = Listening.objects.get()
    assert answer.unbroken_since == answer.last_beat_at
    listening_beat()
    again = Listening.objects.get()
    assert again.unbroken_since == answer.unbroken_since
    assert again.last_beat_at >= answer.last_beat_at
