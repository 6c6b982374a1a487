from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import (
    Case,
    Count,
    Exists,
    F,
    Max,
    OuterRef,
    Q,
    QuerySet,
    Value,
    When,
    Window,
)
from django.db.models.functions import RowNumber

from apps.accounts.models import Team
from apps.deployments.models import Deployment, Environment, ServedModel
from apps.deployments.presentation import DeploymentRow
from apps.deployments.selectors import DEGRADED, deployment_list
from apps.telemetry.traffic import traffic_by_deployment
from apps.ui.listing import sorted_rows

SHOWN_OF_EACH = 5
"""Deployments of a model: those that serve, then the newest."""
SORTS: Mapping[str, str] = {"created": "latest_at", "name": "name"}
"""What the list is sorted by; without a wish what was deployed last is first."""


@dataclass(frozen=True, kw_only=True)
class ModelRow:
    model: ServedModel
    rows: Sequence[DeploymentRow]

    @property
    def others(self) -> int:
        return int(self.model.deployments_count) - len(self.rows)  # type: ignore[attr-defined]

    @property
    def empty_places(self) -> Sequence[str]:
        return list(self.model.empty_places)  # type: ignore[attr-defined]


def model_search(
    *, team: Team, words: str = "", state: str = "", sort: str = ""
) -> QuerySet[ServedModel]:
    models = ServedModel.objects.filter(team=team)
    if words:
        named = Exists(_of_model().filter(name__icontains=words))
        models = models.filter(Q(name__icontains=words) | named)
    if state:
        models = models.filter(Exists(_of_model().filter(_is_in(state))))
    empty = Environment.objects.filter(model=OuterRef("pk"), current=None).order_by("id")
    rows = models.annotate(
        deployments_count=Count("deployments"),
        latest_at=Max("deployments__created_at"),
        empty_places=ArraySubquery(empty.values("name")),
    )
    return sorted_rows(rows, sort, SORTS, otherwise="-created")


def model_rows(
    team: Team, models: Collection[ServedModel], *, words: str = "", state: str = ""
) -> Sequence[ModelRow]:
    rows: dict[str, list[DeploymentRow]] = defaultdict(list)
    shown = list(_shown(team, models, _matches(words, state)))
    traffic = traffic_by_deployment(deployment_ids=[each.id for each in shown])
    for each in shown:
        rows[each.model_id].append(DeploymentRow(deployment=each, traffic=traffic[each.id]))
    # Sorting keeps the newest first among those that serve, and among the others.
    return [
        ModelRow(model=each, rows=sorted(rows[each.id], key=lambda row: not row.places))
        for each in models
    ]


def _of_model() -> QuerySet[Deployment]:
    return Deployment.objects.filter(model=OuterRef("pk"))


def _is_in(state: str) -> Q:
    return Q(degraded_since__isnull=False) if state == DEGRADED else Q(state=state)


def _matches(words: str, state: str) -> Q:
    named = Q(name__icontains=words) if words else Q()
    return named & _is_in(state) if state else named


def _shown(team: Team, models: Collection[ServedModel], asked_for: Q) -> QuerySet[Deployment]:
    """Return the first few of each model: asked for, in an environment, new."""
    is_asked = Case(When(asked_for, then=True), default=False) if asked_for else Value(value=False)
    serves = Exists(
        Environment.objects.filter(Q(current=OuterRef("pk")) | Q(candidate=OuterRef("pk")))
    )
    place = Window(
        RowNumber(),
        partition_by=F("model_id"),
        order_by=[F("asked").desc(), F("serves").desc(), F("created_at").desc(), F("id")],
    )
    ranked = Deployment.objects.filter(model__in=[each.id for each in models])
    first = ranked.annotate(serves=serves, asked=is_asked, place=place).filter(
        place__lte=SHOWN_OF_EACH
    )
    rows = deployment_list(team=team).select_related(None).prefetch_related(None)
    return (
        rows.filter(id__in=first.values("id"))
        .select_related("model")
        .prefetch_related("current_of")
        .defer("checkpoint")
    )
