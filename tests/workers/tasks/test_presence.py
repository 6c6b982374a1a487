"""A worker that is there says so, and says when it leaves."""

import pytest

from apps.fleet.models import Worker
from apps.fleet.selectors import builder_is_there
from apps.fleet.services.workers import worker_arrived
from tests.manual_clock import ManualClock
from tests.waiting import wait_for
from workers.tasks.presence import EVERY_SECONDS, Presence

pytestmark = pytest.mark.django_db(transaction=True)
NAME = "build.default@test-presence"


def test_a_worker_is_listed_while_it_runs_and_gone_when_it_has_ended() -> None:
    clock = ManualClock()
    here = Presence(NAME, clock=clock)
    here.start()
    try:
        clock.wait_for_waiters()
        first = Worker.objects.get(name=NAME).last_seen_at
        assert builder_is_there()
        clock.advance(EVERY_SECONDS)
        wait_for(lambda: Worker.objects.filter(last_seen_at__gt=first).exists(), what="its word")
    finally:
        here.leave()
    assert not Worker.objects.filter(name=NAME).exists()


def test_a_worker_that_starts_again_is_the_same_worker() -> None:
    for version in ("1", "2"):
        worker_arrived(name="control@test-presence", version=version)
    assert Worker.objects.get(name="control@test-presence").version == "2"
