"""The one place that sends builds to their workers."""

import logging
from typing import Any

import amqp.exceptions
import kombu
import kombu.exceptions
from django.db import transaction

from controlplane.celery import PAYLOAD_FORMAT, app, build_queue

_log = logging.getLogger(__name__)


def build_send(*, build_id: str, pool: str) -> None:
    """Offer the build to the workers of its pool, once the transaction has committed."""
    transaction.on_commit(lambda: _send(build_id, pool))


def build_queue_length(*, pool: str) -> int:
    """Return how many messages wait for the workers of a pool."""
    with app.connection_for_read() as connection:
        queue = kombu.Queue(build_queue(pool), channel=connection.default_channel)
        try:
            declared: Any = queue.queue_declare(passive=True)
        except amqp.exceptions.ChannelError:  # an empty queue does not exist
            return 0
        return int(declared.message_count)


def _send(build_id: str, pool: str) -> None:
    try:
        app.send_task(
            "build.run",
            kwargs={"build_id": build_id, "format": PAYLOAD_FORMAT},
            queue=build_queue(pool),
            retry=False,
        )
    except kombu.exceptions.OperationalError as error:
        # The row is the truth: the sweep sends it again once the broker answers.
        _log.warning("build %s was not announced: %s", build_id, error)
