"""A message is a hint: lost ones are sent again, and the queue does not grow."""

from unittest.mock import patch

import pytest
import redis
from celery import Celery
from redis.connection import Connection

from apps.builds.leasing import BUILD
from apps.builds.models import Build
from apps.leases.queue import work_send
from apps.leases.sweeping import leases_sweep
from controlplane import clock
from controlplane.celery import app, build_queue, queue_length
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


def test_a_broker_that_is_away_costs_a_request_little(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    away = Celery(broker="redis://127.0.0.1:1/0")
    away.conf.broker_transport_options = app.conf.broker_transport_options
    monkeypatch.setattr("apps.leases.queue.app", away)
    slept: list[float] = []
    for waiting in ("kombu.utils.functional.sleep", "redis.retry.sleep"):
        monkeypatch.setattr(waiting, slept.append)
    build = factories.make_build(pool=POOL)
    connect = Connection._connect
    with patch.object(Connection, "_connect", autospec=True, side_effect=connect) as tries:
        work_send(BUILD, build)
    assert tries.call_count <= 4
    assert sum(slept) <= 0.2
    assert f"build {build.id} was not announced" in caplog.text
