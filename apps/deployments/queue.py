"""The one place that tells agents that their wanted state has changed."""

import logging
from collections.abc import Collection

from django.db import transaction

from apps.fleet.selectors import nodes_alive
from controlplane.celery import PAYLOAD_FORMAT, host_queue
from controlplane.hints import HintLost, hint_send

_log = logging.getLogger(__name__)


def nodes_nudge(*, node_ids: Collection[str]) -> None:
    """Tell the agents of these nodes to fetch what they should run, after the commit."""
    ids = set(node_ids)
    if ids:
        transaction.on_commit(lambda: _send_all(ids))


def _send_all(node_ids: Collection[str]) -> None:
    # A silent node reads nothing: messages would only pile up until it returns and asks anyway.
    for node in nodes_alive().filter(id__in=node_ids).order_by("name"):
        payload = {
            "node_id": node.id,
            "version": node.wanted_version,
            "format": PAYLOAD_FORMAT,
        }
        try:
            hint_send(
                "serve.apply_wanted_state",
                queue=host_queue(node.name),
                arguments=payload,
                expires_seconds=60,
            )
        except HintLost as error:
            # The row is the truth: the agent asks every few seconds by itself.
            _log.warning("node %s was not told of version %s: %s", node.name, payload, error)
            return
