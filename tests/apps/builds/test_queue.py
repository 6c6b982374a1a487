"""A message is a hint: lost ones are sent again, and the queue does not grow."""

from unittest.mock import patch

import pytest
import redis
from celery import Celery
from redis.connection import Connection

from apps.builds.queue import build_queue_length, build_send
from apps.builds.services import builds_sweep
from controlplane.celery import app
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


def test_queued_builds_without_a_message_are_sent_again() -> None:
    for _ in range(3):
        factories.make_build(pool=POOL)
    assert builds_sweep().sent == 3
    assert build_queue_length(pool=POOL) == 3


def test_while_workers_are_busy_the_queue_does_not_grow() -> None:
    for _ in range(3):
        factories.make_build(pool=POOL)
    for _ in range(5):
        builds_sweep()
    assert build_queue_length(pool=POOL) == 3


def test_an_emptied_broker_is_filled_again(broker: str) -> None:
    build = factories.make_build(pool=POOL)
    build_send(build_id=build.id, pool=POOL)
    with redis.from_url(broker) as client:
        client.flushall()
    assert build_queue_length(pool=POOL) == 0
    assert builds_sweep().sent == 1
    assert build_queue_length(pool=POOL) == 1


def test_a_broker_that_is_away_costs_a_request_little(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    away = Celery(broker="redis://127.0.0.1:1/0")
    away.conf.broker_transport_options = app.conf.broker_transport_options
    monkeypatch.setattr("apps.builds.queue.app", away)

    slept: list[float] = []
    for waiting in ("kombu.utils.functional.sleep", "redis.retry.sleep"):
        monkeypatch.setattr(waiting, slept.append)
    connect = Connection._connect
    with patch.object(Connection, "_connect", autospec=True, side_effect=connect) as tries:
        build_send(build_id="abcdefgh", pool=POOL)
    assert tries.call_count <= 4
    assert sum(slept) <= 0.2
    assert "build abcdefgh was not announced" in caplog.text
