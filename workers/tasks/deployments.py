"""Tasks of deployments: hints that rows may need a move."""

import logging

from celery import shared_task

from apps.deployments.services import deployments_sweep

_log = logging.getLogger(__name__)


@shared_task(name="deployments.sweep")
def sweep(*, format: int, **unknown: object) -> None:
    """Make true what lost messages, nodes and processes left behind."""
    if unknown:
        _log.warning("deployments.sweep: unknown arguments %s", sorted(unknown))
    deployments_sweep()
