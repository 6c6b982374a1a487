"""A message is a hint: lost ones are sent again, and the queue does not grow."""

from typing import Any

import pytest
import redis
from django.db import connection

from apps.builds.leasing import BUILD
from apps.builds.models import Build
from apps.leases.queue import work_send
from apps.leases.sweeping import leases_sweep
from controlplane import clock
from controlplane.celery import build_queue
from controlplane.hints import queue_length
from tests import factories

pytestmark = pytest.mark.django_db
POOL = "queue-test"


@pytest.fixture(autouse=True)
def sent_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests' transaction never commits."""
    monkeypatch.setattr("django.db.transaction.on_commit", lambda send: send())


@pytest.fixture(autouse=True)
def empty_broker(broker: str) -> None:
    with redis.from_url(broker) as client:
        client.flushall()


def make_old_builds(count: int) -> None:
    """Queued builds whose messages count as lost."""
    for _ in range(count):
        factories.make_build(pool=POOL)
    Build.objects.update(created_at=clock.now().replace(year=2020))


def test_work_without_a_message_is_sent_again() -> None:
    make_old_builds(3)
    assert leases_sweep(BUILD).sent == 3
    assert queue_length(build_queue(POOL)) == 3


def test_while_workers_are_busy_the_queue_does_not_grow() -> None:
    make_old_builds(3)
    for _ in range(5):
        leases_sweep(BUILD)
    assert queue_length(build_queue(POOL)) == 3


def test_an_emptied_broker_is_filled_again(broker: str) -> None:
    make_old_builds(1)
    work_send(BUILD, Build.objects.get())
    with redis.from_url(broker) as client:
        client.flushall()
    assert queue_length(build_queue(POOL)) == 0
    assert leases_sweep(BUILD).sent == 1
    assert queue_length(build_queue(POOL)) == 1


def test_a_broker_that_is_away_costs_a_request_a_line_in_the_log(
    settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.BROKER_URL = "redis://127.0.0.1:1/0"
    build = factories.make_build(pool=POOL)
    work_send(BUILD, build)
    assert f"build {build.id} was not announced" in caplog.text


def test_a_sweep_outlives_a_broker_that_counts_no_messages(
    settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    make_old_builds(1)
    settings.BROKER_URL = "redis://127.0.0.1:1/0"
    assert leases_sweep(BUILD).sent == 0
    assert "were not counted" in caplog.text


@pytest.mark.django_db(transaction=True)
def test_the_broker_is_asked_outside_the_transaction_and_without_the_lock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make_old_builds(1)
    seen: list[tuple[bool, int]] = []

    def look(queue: str) -> int:
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'")
            seen.append((connection.in_atomic_block, cursor.fetchone()[0]))
        return 0

    monkeypatch.setattr("apps.leases.sweeping.queue_length", look)
    assert leases_sweep(BUILD).sent == 1
    assert seen == [(False, 0)]
