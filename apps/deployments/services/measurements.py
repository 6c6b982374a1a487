"""What engines report of themselves, stored for all replicas of a node at once."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db import connection, transaction

from apps.accounts.routes_version import routes_version_bump
from apps.fleet.models import Node
from controlplane.domain.lifecycle import ReplicaState

if TYPE_CHECKING:
    from apps.deployments.services.observing import ReplicaReport

# Locked by id, as reconciling locks those of a deployment: no two wait in a ring. What is the same
# is neither locked nor written.
_STORE = """
    WITH said AS (
        SELECT * FROM jsonb_to_recordset(%s) AS said (
            id text, generation int, host text, port int, probe_port int, pid int,
            report jsonb, metrics jsonb
        )
    ), changed AS (
        SELECT known.id, known.host, known.port, known.report ->> 'version' AS version
        FROM deployments_replica AS known JOIN said USING (id, generation)
        WHERE known.node_id = %s AND known.finished_at IS NULL
            AND (known.observed_at IS NULL
                OR (
                    known.host, known.port, known.probe_port, known.pid,
                    known.report, known.metrics
                ) IS DISTINCT FROM (
                        said.host, said.port, said.probe_port, said.pid,
                        coalesce(said.report, known.report), coalesce(said.metrics, known.metrics)
                    ))
        ORDER BY known.id FOR NO KEY UPDATE OF known
    )
    UPDATE deployments_replica AS replica SET
        host = said.host, port = said.port, probe_port = said.probe_port, pid = said.pid,
        report = coalesce(said.report, replica.report),
        metrics = coalesce(said.metrics, replica.metrics),
        observed_at = statement_timestamp()
    FROM changed JOIN said USING (id)
    WHERE replica.id = changed.id
    RETURNING replica.id, replica.deployment_id, replica.state,
        (changed.host, changed.port, changed.version)
            IS DISTINCT FROM (replica.host, replica.port, replica.report ->> 'version')
"""


@dataclass(frozen=True)
class _Stored:
    id: str
    deployment_id: str
    state: str
    is_elsewhere: bool
    """It answers at another place, or as another version, than gateways were told."""


@transaction.atomic
def measurements_store(*, node: Node, reports: Iterable["ReplicaReport"]) -> int:
    """Return how many of the node's replicas say something else than before; only they are written.

    Gateways are told where a ready one answers elsewhere.
    """
    with connection.cursor() as cursor:
        cursor.execute(_STORE, [json.dumps([_said(each) for each in reports]), node.id])
        stored = [_Stored(*row) for row in cursor.fetchall()]
    moved = [each for each in stored if each.state == ReplicaState.READY and each.is_elsewhere]
    if moved:
        routes_version_bump(
            replicas=[each.id for each in moved],
            deployments={each.deployment_id for each in moved},
        )
    return len(stored)


def _said(report: "ReplicaReport") -> dict[str, Any]:
    return {
        "id": report.id,
        "generation": report.generation,
        "host": report.host,
        "port": report.port,
        "probe_port": report.probe_port,
        "pid": report.pid,
        "report": None if report.report is None else dict(report.report),
        "metrics": None if report.metrics is None else dict(report.metrics),
    }
