"""What was measured of the stage's deployment: 40 minutes with a gap, and some days before."""

import math

from apps.deployments.models import Replica
from apps.telemetry.series.cells import Cells
from apps.telemetry.series.names import Source
from apps.telemetry.series.services import Batch, batches_add, series_fold
from controlplane import clock

_GAP_SECONDS = range(1200, 1500)
"""Ago: nobody measured anything."""
_RECENT_SECONDS = range(30, 2400, 10)
_DAYS_SECONDS = range(4 * 3600, 3 * 86_400, 3600)


def series_of(replica: Replica) -> None:
    """Count requests of the replica's deployment and have its engine tell of itself."""
    cells = Cells()
    for age in (*_RECENT_SECONDS, *_DAYS_SECONDS):
        if age not in _GAP_SECONDS:
            _measure(cells, replica, age)
    batches_add([Batch(source="stage", sequence=1, cells=cells)])
    series_fold()


def _measure(cells: Cells, replica: Replica, age: int) -> None:
    at, turn = clock.now().timestamp() - age, round(8 + 8 * math.sin(age / 230))
    labels = {
        "team_id": replica.deployment.model.team_id,
        "model_id": replica.deployment.model_id,
        "deployment_id": replica.deployment_id,
    }
    cells.at(Source.CONTROL_PLANE, at, {}).look("gateways_live", 1)
    states = cells.at(Source.CONTROL_PLANE, at, labels)
    states.look("replicas_ready", 1)
    states.look("replicas_wanted", 1)
    _requests(cells, at, labels | {"environment": "production"}, turn)
    engine = cells.at(Source.ENGINE, at, labels | {"replica_id": replica.id})
    engine.look("requests_running", 1 + turn // 4)
    engine.look("requests_waiting", turn // 12)
    engine.look("kv_cache_used_ratio", 0.1 + turn / 100)
    engine.count("draft_tokens", 150)
    engine.count("accepted_draft_tokens", 80 + turn)


def _requests(cells: Cells, at: float, labels: dict[str, str], turn: int) -> None:
    for number in range(5 + turn):
        status = "5xx" if turn == number == 3 else "2xx"
        cell = cells.at(Source.GATEWAY, at, labels | {"status_class": status, "key_id": "key"})
        cell.count("requests", 1)
        cell.count("prompt_tokens", 210)
        cell.count("completion_tokens", 46)
        cell.observe("queue_seconds", 0.0004)
        cell.observe("time_to_first_token_seconds", 0.06 + number * turn / 400)
        cell.observe("inter_token_seconds", 0.011 + turn / 4000)
        cell.observe("end_to_end_seconds", 0.7 + number * turn / 300)
