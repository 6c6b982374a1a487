"""Tasks of deployments: hints that rows may need a move."""

import logging

from celery import shared_task

from apps.deployments.autoscaling.deciding import autoscale
from apps.deployments.services.builds import deployments_after_build
from apps.deployments.services.sweeping import deployments_sweep
from controlplane.celery import CONTROL_QUEUE, PAYLOAD_FORMAT
from controlplane.hints import HintLost, hint_send
from workers.tasks.ticks import tick

_log = logging.getLogger(__name__)


@tick("deployments.sweep")
def sweep() -> None:
    """Repair what lost messages, nodes and processes left behind."""
    deployments_sweep()


@tick("deployments.autoscale")
def autoscale_all() -> None:
    if moved := autoscale():
        _log.info("%s deployments were given another size", moved)


@shared_task(name="deployments.after_build")
def after_build(*, build_id: str, format: int, **unknown: object) -> None:
    if unknown:
        _log.warning("deployments.after_build: unknown arguments %s", sorted(unknown))
    deployments_after_build(build_id=build_id)


def announce_end(build_id: str) -> None:
    """Ask a control worker to look at what waited for the build.

    A build worker itself has no right to rows of deployments.
    """
    try:
        hint_send(
            after_build.name,
            queue=CONTROL_QUEUE,
            arguments={"build_id": build_id, "format": PAYLOAD_FORMAT},
        )
    except HintLost as error:
        # The row is the truth: the sweep looks at it too.
        _log.warning("the end of build %s was not announced: %s", build_id, error)
