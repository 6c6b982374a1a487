"""A worker comes to a lease although the database restarts, and parts with it in order."""

from collections.abc import Callable

import pytest
from django.db import OperationalError

from apps.builds.leasing import BUILD
from apps.builds.models import Build
from apps.builds.services.claims import build_claim
from apps.leases.lease import Lease
from tests import factories
from tests.manual_clock import ManualClock
from workers.tasks.leasing import Interrupted, LeaseKeeper, LeaseStatus, claimed, drop_or_hand_over
from workers.tasks.leasing.owner import process_owner

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]
LEASE = Lease(kind=BUILD, id="abcdefgh", token=1, secret="x")


def answering(*answers: Lease | Exception | None) -> Callable[[str], Lease | None]:
    left = list(answers)

    def claim(_owner: str) -> Lease | None:
        answer = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    return claim


def test_a_database_that_comes_back_is_waited_for() -> None:
    clock = ManualClock(sleeping_moves_it=True)
    assert claimed(answering(OperationalError("away"), LEASE), clock=clock) == LEASE
    assert len(clock.slept) == 1


def test_one_that_stays_away_leaves_the_work_to_the_sweep() -> None:
    clock = ManualClock(sleeping_moves_it=True)
    assert claimed(answering(OperationalError("away")), clock=clock) is None
    assert sum(clock.slept) == pytest.approx(10, abs=0.3)


def test_what_another_has_is_not_waited_for() -> None:
    clock = ManualClock()
    assert claimed(answering(None), clock=clock) is None


@pytest.mark.parametrize(
    ("status", "state"), [(LeaseStatus.STOPPING, "queued"), (LeaseStatus.LOST, "fetching")]
)
def test_work_goes_back_where_its_worker_stops_and_stays_where_it_is_anothers(
    status: LeaseStatus, state: str
) -> None:
    build = factories.make_build()
    lease = build_claim(build_id=build.id, owner=process_owner("here"))
    assert lease is not None
    keeper = LeaseKeeper(lease, clock=ManualClock())
    drop_or_hand_over(keeper, Interrupted(status))
    assert Build.objects.get(id=build.id).state == state
