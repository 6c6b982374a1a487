"""The one place that asks the control worker to test a secret."""

import logging

import kombu.exceptions
from django.db import transaction

from controlplane.celery import CONTROL_QUEUE, PAYLOAD_FORMAT, app

_log = logging.getLogger(__name__)


def secret_test_send(*, test_id: str) -> None:
    """Have the test made, once the transaction has committed."""
    transaction.on_commit(lambda: _send(test_id))


def _send(test_id: str) -> None:
    try:
        app.send_task(
            "secrets.test",
            kwargs={"test_id": test_id, "format": PAYLOAD_FORMAT},
            queue=CONTROL_QUEUE,
            retry=False,
        )
    except kombu.exceptions.OperationalError as error:
        # The row is the truth: the sweep sends it again once the broker answers.
        _log.warning("the test %s of a secret was not asked for: %s", test_id, error)
