"""The one place that asks the control worker to read a checkpoint's facts."""

import logging

import kombu.exceptions
from django.db import transaction

from controlplane.celery import CONTROL_QUEUE, PAYLOAD_FORMAT, app

_log = logging.getLogger(__name__)


def facts_send(*, facts_id: str) -> None:
    """Have the facts read, once the transaction has committed."""
    transaction.on_commit(lambda: _send(facts_id))


def _send(facts_id: str) -> None:
    try:
        app.send_task(
            "configs.fetch_facts",
            kwargs={"facts_id": facts_id, "format": PAYLOAD_FORMAT},
            queue=CONTROL_QUEUE,
            retry=False,
        )
    except kombu.exceptions.OperationalError as error:
        # The row is the truth: the sweep sends it again once the broker answers.
        _log.warning("facts %s were not asked for: %s", facts_id, error)
