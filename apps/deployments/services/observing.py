"""What a node says of its replicas, put into rows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from apps.deployments.failures import elsewhere, foreign_port
from apps.deployments.models import Deployment, Replica
from apps.deployments.nodes.failed_starts import failed_starts_follow
from apps.deployments.services.measurements import LiveReplica, measurements_store
from apps.deployments.services.reconcile import Moves, deployment_settle, replicas_move_alone
from apps.deployments.services.replicas import changes_routes, replica_move_silently
from apps.fleet.models import Node
from apps.fleet.services.nodes import node_versions_note
from controlplane.domain.failures import Failure
from controlplane.domain.failures.registry import serving
from controlplane.domain.lifecycle import REPLICA_TERMINAL, ReplicaState

LONGEST_VERSION = 64
_BEFORE_READY = frozenset({ReplicaState.STARTING, ReplicaState.LOADING})


@dataclass(frozen=True, kw_only=True)
class ReplicaReport:
    id: str
    generation: int
    state: ReplicaState
    host: str = ""
    port: int | None = None
    probe_port: int | None = None
    pid: int | None = None
    failure: Failure | None = None
    report: Mapping[str, Any] | None = None
    metrics: Mapping[str, float] | None = None


def replicas_observe(*, node: Node, reports: Sequence[ReplicaReport]) -> None:
    """Store what `node` reports of all that it runs; what it leaves out, it does not run."""
    report_of = {report.id: _within_its_node(node, report) for report in reports}
    rows = measurements_store(node=node, reports=report_of.values())
    _store_versions(node, rows, report_of)
    moved = {row.deployment_id for row in rows if _is_moved(row, report_of)}
    for deployment_id in sorted(moved):
        _settle(deployment_id, partial(_apply_moves, node, report_of))


def _store_versions(
    node: Node, rows: Sequence[LiveReplica], report_of: Mapping[str, ReplicaReport]
) -> None:
    """Note the versions that engines tell; the engine ordered last is the one to believe."""
    versions = {}
    for row in rows:
        report = report_of[row.id].report if row.id in report_of else None
        if report and (version := report.get("version")):
            versions[row.runtime] = str(version)[:LONGEST_VERSION]
    node_versions_note(node=node, versions=versions)


def _is_moved(replica: LiveReplica, report_of: Mapping[str, ReplicaReport]) -> bool:
    report = _same_generation(report_of.get(replica.id), replica)
    return _next_state(replica, report) is not None


def _settle(deployment_id: str, moves: Moves) -> None:
    try:
        deployment_settle(deployment_id=deployment_id, first=moves)
    except Exception:
        # What the node says is so, whatever else of the deployment cannot be done.
        replicas_move_alone(deployment_id=deployment_id, first=moves)
        raise


def _apply_moves(
    node: Node,
    report_of: Mapping[str, ReplicaReport],
    _deployment: Deployment,
    replicas: Sequence[Replica],
) -> list[str]:
    """Return the ids of those that came into the routes or left them."""
    moves = _moves(node, [each for each in replicas if each.node_id == node.id], report_of)
    for replica, target, failure in moves:
        failed_starts_follow(replica=replica, to=target, failure=failure)
    return [
        replica.id for replica, target, failure in moves if _is_rerouted(replica, target, failure)
    ]


def _is_rerouted(replica: Replica, target: ReplicaState, failure: Failure | None) -> bool:
    old = replica.state
    is_moved = replica_move_silently(replica=replica, to=target, failure=failure)
    return is_moved and changes_routes(old, target)


def _moves(
    node: Node, replicas: Iterable[Replica], report_of: Mapping[str, ReplicaReport]
) -> list[tuple[Replica, ReplicaState, Failure | None]]:
    moves = []
    for replica in replicas:
        report = _same_generation(report_of.get(replica.id), replica)
        target = _next_state(replica, report)
        if target is not None:
            moves.append((replica, target, _reason(node, target, report)))
    return moves


def _within_its_node(node: Node, report: ReplicaReport) -> ReplicaReport:
    """Return the report, of a failed replica where gateways would have to ask at a foreign place.

    A node that fell into wrong hands would else have them send requests, prompts included, to
    wherever it likes.
    """
    if report.state in REPLICA_TERMINAL or report.port is None:
        return replace(report, host="", port=None, probe_port=None)
    if report.host != node.address:
        return _refused(report, elsewhere(node, report.host))
    for port in (report.port, report.probe_port):
        if port is not None and not node.lowest_engine_port <= port <= node.highest_engine_port:
            return _refused(report, foreign_port(node, port))
    return report


def _refused(report: ReplicaReport, failure: Failure) -> ReplicaReport:
    nowhere = replace(report, host="", port=None, probe_port=None)
    return replace(nowhere, state=ReplicaState.FAILED, failure=failure)


def _same_generation(
    report: ReplicaReport | None, replica: Replica | LiveReplica
) -> ReplicaReport | None:
    return report if report and report.generation == replica.generation else None


def _next_state(
    replica: Replica | LiveReplica, report: ReplicaReport | None
) -> ReplicaState | None:
    state = ReplicaState(replica.state)
    if report is None:
        return _without_report(replica, state)
    target = report.state
    if state is ReplicaState.LOST and replica.was_ready and target in _BEFORE_READY:
        # An agent that was started anew has not asked the engine yet.
        return None
    is_leaving = replica.wanted == "stopped" or replica.is_draining
    if is_leaving and target not in REPLICA_TERMINAL:
        # It may still serve what it has begun, but it never comes back into the routes.
        target = ReplicaState.DRAINING if state is ReplicaState.LOST else state
    return None if target is state else target


def _without_report(replica: Replica | LiveReplica, state: ReplicaState) -> ReplicaState | None:
    if replica.wanted == "stopped":
        return ReplicaState.STOPPED
    # A fresh order may not have reached the node yet.
    return None if state is ReplicaState.ORDERED else ReplicaState.FAILED


def _reason(node: Node, target: ReplicaState, report: ReplicaReport | None) -> Failure | None:
    if target is not ReplicaState.FAILED:
        return None
    if report is None:
        return serving.GONE.failure(node=node.name)
    return report.failure or serving.UNEXPLAINED.failure()
