"""What production serves: one row a model, with its last hour by the series of the gateways."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Case, Count, Q, QuerySet, Value, When

from apps.accounts.models import Team
from apps.deployments.models import PRODUCTION, Environment
from apps.deployments.selectors import unheard
from apps.telemetry.series.selectors import Answer, query
from controlplane import clock
from controlplane.domain.lifecycle import DeploymentState, ReplicaState

WINDOW = timedelta(hours=1)
_STEP_SECONDS = 120
_FOLDED = timedelta(seconds=20)
"""What is younger may not be rolled up yet."""
_FAILED = "5xx"
_SLEEPS = (DeploymentState.INACTIVE, DeploymentState.SCALED_TO_ZERO)
_READY = Count("current__replicas", filter=Q(current__replicas__state=ReplicaState.READY))
_Values = Sequence[float | None]


@dataclass(frozen=True, kw_only=True)
class HourOfTraffic:
    """The last hour's requests of one deployment as production; None where nothing was counted."""

    requests_per_second: float | None = None
    error_share: float | None = None
    first_token_p90_seconds: float | None = None
    trend: _Values = field(default_factory=tuple)
    """Requests per second, by two minutes."""


@dataclass(frozen=True, kw_only=True)
class ProductionRow:
    environment: Environment
    ready: int
    is_confirmed: bool
    """Whether a node has said lately that what runs of it does."""
    traffic: HourOfTraffic


def production_environments(*, team: Team) -> QuerySet[Environment]:
    serves, is_short = DeploymentState.ACTIVE, Q(current__degraded_since__isnull=False)
    weight = Case(
        When(current__state__in=_SLEEPS, then=Value(3)),
        When(is_short, then=Value(1)),
        When(current__state=serves, then=Value(2)),
        default=Value(0),
    )
    places = Environment.objects.filter(model__team=team, name=PRODUCTION, current__isnull=False)
    return (
        places.select_related("model", "current")
        .defer("current__spec", "current__checkpoint")
        .annotate(ready=_READY, is_unheard=unheard("current_id"))
        .order_by(weight, "model__name")
    )


def production_rows(
    *, team: Team, most: int, now: datetime | None = None
) -> Sequence[ProductionRow]:
    places = list(production_environments(team=team)[:most])
    traffic = _traffic({each.current_id or "" for each in places}, team, now or clock.now())
    return [
        ProductionRow(
            environment=each,
            ready=each.ready,  # type: ignore[attr-defined]
            is_confirmed=not each.is_unheard,  # type: ignore[attr-defined]
            traffic=traffic.get(each.current_id or "", HourOfTraffic()),
        )
        for each in places
    ]


def _traffic(
    deployment_ids: Collection[str], team: Team, now: datetime
) -> Mapping[str, HourOfTraffic]:
    if not deployment_ids:
        return {}
    question = _TrafficQuery(team_id=team.id, deployment_ids=sorted(deployment_ids), now=now)
    requests, first = question.requests(), question.p90("time_to_first_token_seconds")
    return {each: _hour(lines, first.get(each)) for each, lines in requests.items()}


def _hour(lines: Mapping[str, _Values], first: float | None) -> HourOfTraffic:
    steps = [_sum_of(values) for values in zip(*lines.values(), strict=True)]
    counted = [each for each in steps if each is not None]
    total, failed = sum(counted), _sum_of(lines.get(_FAILED, ())) or 0.0
    return HourOfTraffic(
        requests_per_second=total / (len(counted) * _STEP_SECONDS) if counted else None,
        error_share=failed / total if total else None,
        first_token_p90_seconds=first,
        trend=[None if each is None else each / _STEP_SECONDS for each in steps],
    )


def _sum_of(values: Iterable[float | None]) -> float | None:
    known = [each for each in values if each is not None]
    return sum(known) if known else None


@dataclass(frozen=True, kw_only=True)
class _TrafficQuery:
    team_id: str
    deployment_ids: Sequence[str]
    now: datetime

    def requests(self) -> Mapping[str, Mapping[str, _Values]]:
        """Return by deployment and class of status how many ended in each step."""
        values: dict[str, dict[str, _Values]] = defaultdict(dict)
        by = ["deployment_id", "status_class"]
        for line in self._ask("requests", by, step_seconds=_STEP_SECONDS).lines:
            values[line.labels["deployment_id"]][line.labels["status_class"]] = line.values["sum"]
        return values

    def p90(self, series: str) -> Mapping[str, float | None]:
        """Return by deployment the percentile of the whole window."""
        answer = self._ask(series, ["deployment_id"], as_one=True)
        return {each.labels["deployment_id"]: each.values["p90"][0] for each in answer.lines}

    def _ask(self, series: str, group_by: Sequence[str], **form: Any) -> Answer:
        return query(
            series,
            start=self.now - WINDOW,
            end=self.now - _FOLDED,
            now=self.now,
            team_id=self.team_id,
            group_by=group_by,
            filters={"deployment_id": self.deployment_ids, "environment": [PRODUCTION]},
            **form,
        )
