"""The one place that asks build workers for previews."""

import logging

import kombu.exceptions
from django.db import transaction

from controlplane.celery import PAYLOAD_FORMAT, app, build_queue

_log = logging.getLogger(__name__)


def preview_send(*, preview_id: str, pool: str) -> None:
    """Offer a preview to the build workers of a pool, once the transaction has committed."""
    transaction.on_commit(lambda: _send(preview_id, pool))


def _send(preview_id: str, pool: str) -> None:
    try:
        app.send_task(
            "configs.preview_calibration",
            kwargs={"preview_id": preview_id, "format": PAYLOAD_FORMAT},
            queue=build_queue(pool),
            retry=False,
        )
    except kombu.exceptions.OperationalError as error:
        # The row is the truth: the sweep sends it again once the broker answers.
        _log.warning("preview %s was not announced: %s", preview_id, error)
