"""The one place that sends work to workers."""

import logging

from django.db import transaction

from apps.leases.kinds import LeaseKind
from apps.leases.models import Leased
from controlplane.celery import PAYLOAD_FORMAT
from controlplane.hints import HintLost, hint_send

_log = logging.getLogger(__name__)


def work_send(kind: LeaseKind, row: Leased) -> None:
    """Offer the work to the workers of its queue, once the transaction has committed."""
    row_id, queue = str(row.pk), kind.queue_of(row)
    transaction.on_commit(lambda: _send(kind, row_id, queue))


def _send(kind: LeaseKind, row_id: str, queue: str) -> None:
    try:
        hint_send(
            kind.task,
            queue=queue,
            arguments={kind.id_argument: row_id, "format": PAYLOAD_FORMAT},
        )
    except HintLost as error:
        # The row is the truth: the sweep sends it again once the broker answers.
        _log.warning("%s %s was not announced: %s", kind.name, row_id, error)
