"""The signal: what gateways say is in flight, summed, and who has said nothing."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from apps.deployments.autoscaling.models import GatewayLoad
from apps.fleet.models import Gateway
from controlplane.clock import SYSTEM, Clock
from controlplane.domain.scaling.decision import Signal
from controlplane.domain.scaling.formula import Load

REPORT_AGE = timedelta(seconds=15)
"""Three reports: a gateway whose last one is older has said nothing."""
GATEWAY_FORGOTTEN = timedelta(minutes=5)
"""A gateway that was not heard for so long has ended; what it had in flight ended with it."""
LOADS_KEPT = timedelta(seconds=3600 + 60)
"""The longest window, and a little."""


def load_add(
    *,
    gateway: Gateway,
    sequence: int,
    seconds: float,
    loads: Mapping[str, Mapping[str, float]],
    ejected: Mapping[str, str] | None = None,
    clock: Clock = SYSTEM,
) -> None:
    """Keep a gateway's report; one that is known changes nothing."""
    row = GatewayLoad(
        gateway=gateway,
        sequence=sequence,
        at=clock.now(),
        seconds=seconds,
        loads=dict(loads),
        ejected=dict(ejected or {}),
    )
    GatewayLoad.objects.bulk_create([row], ignore_conflicts=True)


def loads_prune(*, clock: Clock = SYSTEM) -> int:
    forgotten, _ = GatewayLoad.objects.filter(at__lt=clock.now() - LOADS_KEPT).delete()
    return forgotten


@dataclass(frozen=True, kw_only=True)
class Signals:
    missing: str
    held: Mapping[str, int]
    loads: Mapping[int, Mapping[str, Load]]
    """By window in seconds, then by deployment."""

    def of(self, deployment_id: str, *, window_seconds: int) -> Signal:
        load = self.loads.get(window_seconds, {}).get(deployment_id, Load())
        return Signal(load=load, held=self.held.get(deployment_id, 0), missing=self.missing)


def signals_at(now: datetime, *, windows: Collection[int]) -> Signals:
    return Signals(
        missing=_missing(now),
        held=_waiting(now),
        loads={each: loads_over(each, now) for each in windows},
    )


def _missing(now: datetime) -> str:
    known = Gateway.objects.filter(last_seen_at__gt=now - GATEWAY_FORGOTTEN)
    reporting = GatewayLoad.objects.filter(at__gt=now - REPORT_AGE).values("gateway_id")
    silent = list(
        known.exclude(id__in=reporting).order_by("name").values_list("name", flat=True)[:4]
    )
    if silent:
        names = ", ".join(f"`{name}`" for name in silent)
        return f"Gateway {names} has not said for {REPORT_AGE.seconds} s what is in flight"
    return "" if known.exists() else "No gateway has been heard"


_WAITING = """
    SELECT load.key, sum((load.value ->> 'held')::int) FROM (
        SELECT DISTINCT ON (gateway_id) loads FROM deployments_gatewayload
        WHERE at > %s ORDER BY gateway_id, sequence DESC
    ) AS newest, jsonb_each(newest.loads) AS load
    GROUP BY load.key HAVING sum((load.value ->> 'held')::int) > 0
"""


def _waiting(now: datetime) -> dict[str, int]:
    with connection.cursor() as cursor:
        cursor.execute(_WAITING, [now - REPORT_AGE])
        return {id: int(count) for id, count in cursor.fetchall()}


# A gateway that ended had nothing in flight since: its sums count over the whole window.
_LOADS = """
    WITH report AS (
        SELECT gateway_id, at, seconds, loads FROM deployments_gatewayload
        WHERE at > %(since)s AND at <= %(now)s
    ), covered AS (
        SELECT gateway_id,
            CASE WHEN max(at) > %(fresh)s THEN sum(seconds) ELSE %(window)s END AS seconds
        FROM report GROUP BY gateway_id HAVING sum(seconds) > 0
    ), summed AS (
        SELECT report.gateway_id, load.key,
            sum((load.value ->> 'requests')::float * report.seconds) AS requests,
            sum((load.value ->> 'tokens')::float * report.seconds) AS tokens
        FROM report, jsonb_each(report.loads) AS load GROUP BY report.gateway_id, load.key
    )
    SELECT key, sum(requests / covered.seconds), sum(tokens / covered.seconds)
    FROM summed JOIN covered USING (gateway_id) GROUP BY key
"""


def loads_over(window_seconds: int, now: datetime) -> dict[str, Load]:
    parameters: dict[str, Any] = {
        "now": now,
        "since": now - timedelta(seconds=window_seconds),
        "fresh": now - REPORT_AGE,
        "window": float(window_seconds),
    }
    with connection.cursor() as cursor:
        cursor.execute(_LOADS, parameters)
        return {
            id: Load(requests=requests, tokens=tokens) for id, requests, tokens in cursor.fetchall()
        }
