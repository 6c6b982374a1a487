"""The one place that sends builds to their workers."""

import logging

import kombu.exceptions
from django.db import transaction

from controlplane.celery import PAYLOAD_FORMAT, app, build_queue, queue_length

_log = logging.getLogger(__name__)


def build_send(*, build_id: str, pool: str) -> None:
    """Offer the build to the workers of its pool, once the transaction has committed."""
    transaction.on_commit(lambda: _send(build_id, pool))


def build_queue_length(*, pool: str) -> int:
    """Return how many messages wait for the workers of a pool."""
    return queue_length(build_queue(pool))


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
