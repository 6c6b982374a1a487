"""What engines report of themselves, stored for all replicas of a node at once."""

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from django.db import transaction

from apps.accounts.routes_version import routes_version_bump
from apps.fleet.models import Node
from controlplane.domain.lifecycle import ReplicaState
from controlplane.prepared import SOFT_COMMIT, prepared_cursor, soft_commit

if TYPE_CHECKING:
    from apps.deployments.services.observing import ReplicaReport

# Locked by id, as reconciling locks those of a deployment: no two wait in a ring. What is the same
# is neither locked nor written, nor what gateways would have to be told, unless they are. The node,
# which was heard in any case, comes after them: therefore it asks how many they were. It says
# it all again in a moment, so that nothing waits for the disk but what gateways are told.
_STORE = f"""
    WITH said AS (
        SELECT * FROM jsonb_to_recordset(%(said)s) AS said (
            id text, generation int, host text, port int, probe_port int, pid int,
            report jsonb, metrics jsonb
        )
    ), changed AS (
        SELECT known.id
        FROM deployments_replica AS known JOIN said USING (id, generation)
        WHERE known.node_id = %(node_id)s AND known.finished_at IS NULL
            AND (known.observed_at IS NULL
                OR (
                    known.host, known.port, known.probe_port, known.pid,
                    known.report, known.metrics
                ) IS DISTINCT FROM (
                        said.host, said.port, said.probe_port, said.pid,
                        coalesce(said.report, known.report), coalesce(said.metrics, known.metrics)
                    ))
            AND (%(is_told)s OR known.state <> 'ready'
                OR (known.host, known.port, known.report ->> 'version') IS NOT DISTINCT FROM
                    (said.host, said.port, coalesce(said.report, known.report) ->> 'version'))
        ORDER BY known.id FOR NO KEY UPDATE OF known
    ), stored AS (
        UPDATE deployments_replica AS replica SET
            host = said.host, port = said.port, probe_port = said.probe_port, pid = said.pid,
            report = coalesce(said.report, replica.report),
            metrics = coalesce(said.metrics, replica.metrics),
            observed_at = statement_timestamp()
        FROM changed JOIN said USING (id)
        WHERE replica.id = changed.id
        RETURNING replica.id
    ), heard AS (
        UPDATE fleet_node SET replicas_heard_at = statement_timestamp()
        FROM (SELECT {SOFT_COMMIT}) AS soft
        WHERE id = %(node_id)s AND (SELECT count(*) FROM stored) >= 0
    )
    SELECT known.id, known.deployment_id, known.generation, known.state, known.wanted,
        known.ready_at IS NOT NULL, known.draining_since IS NOT NULL, (
            SELECT runtime FROM deployments_deployment WHERE id = known.deployment_id
        ),
        said.id IS NOT NULL AND
            (known.host, known.port, known.report ->> 'version') IS DISTINCT FROM
            (said.host, said.port, coalesce(said.report, known.report) ->> 'version')
    FROM deployments_replica AS known
    LEFT JOIN said USING (id, generation)
    WHERE known.node_id = %(node_id)s AND known.state NOT IN ('stopped', 'failed')
    ORDER BY known.ordered_at, known.id
"""  # nosec B608 (what is put in is a constant)


class LiveReplica(NamedTuple):
    """What of a replica decides where it goes by a report."""

    id: str
    deployment_id: str
    generation: int
    state: str
    wanted: str
    was_ready: bool
    is_draining: bool
    runtime: str
    is_elsewhere: bool
    """It answers at another place, or as another version, than was known."""


def measurements_store(*, node: Node, reports: Iterable["ReplicaReport"]) -> list[LiveReplica]:
    """Return all replicas of the node that have not ended, the one ordered first first.

    Of those that say something else than before, what they say is stored. Gateways are told where a
    ready one answers elsewhere.
    """
    reports_json = json.dumps([_report_json(each) for each in reports])
    live = _stored(node, reports_json, is_told=False)
    if any(each.is_elsewhere and each.state == ReplicaState.READY for each in live):
        _store_and_tell(node, reports_json)
    return live


@transaction.atomic
def _store_and_tell(node: Node, reports_json: str) -> None:
    # Also of those that are not ready: one may have become so in between.
    moved = [each for each in _stored(node, reports_json, is_told=True) if each.is_elsewhere]
    if moved:
        routes_version_bump(
            replicas=[each.id for each in moved],
            deployments={each.deployment_id for each in moved},
        )


def _stored(node: Node, reports_json: str, *, is_told: bool) -> list[LiveReplica]:
    with prepared_cursor() as cursor:
        values = {"said": reports_json, "node_id": node.id, "is_told": is_told, **soft_commit()}
        cursor.execute(_STORE, values)
        return [LiveReplica(*row) for row in cursor.fetchall()]


def _report_json(report: "ReplicaReport") -> dict[str, Any]:
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
