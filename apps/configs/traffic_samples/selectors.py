from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Max, Min, QuerySet, Sum

from apps.accounts.models import Team
from apps.configs.traffic_samples.models import HeldSamples, TrafficConsent
from apps.fleet.models import Gateway
from controlplane import clock

PREFIX = "traffic/"
"""What names a model's samples where a set is wanted."""
REPORTED_WITHIN = timedelta(seconds=60)
"""A gateway that says nothing for longer is away, and what it holds cannot be asked for."""

FindNames = Callable[[Team, Collection[str]], Mapping[str, str]]
"""Takes a team and ids of models, gives the names of those that are the team's."""
_finders: list[FindNames] = []


@dataclass(frozen=True, kw_only=True)
class SampledModel:
    model_id: str
    name: str
    samples: int
    size_bytes: int
    oldest_at: datetime
    told_at: datetime

    @property
    def dataset(self) -> str:
        """What a tuning is asked for with it."""
        return f"{PREFIX}{self.model_id}"


def model_names_register(finder: FindNames) -> None:
    """Let an app above say what models are called; called once, when Django starts."""
    if finder not in _finders:
        _finders.append(finder)


def consent_of(team: Team) -> TrafficConsent | None:
    """Return the team's consent, or None: then nothing of it is sampled."""
    return TrafficConsent.objects.filter(team=team).select_related("created_by").first()


def sampled_models(consent: TrafficConsent | None) -> list[SampledModel]:
    """Return what is held of each model, the most first."""
    if consent is None:
        return []
    rows = list(
        HeldSamples.objects.filter(consent=consent, samples__gt=0)
        .values("model_id")
        .annotate(
            all_samples=Sum("samples"),
            all_bytes=Sum("size_bytes"),
            oldest=Min("oldest_at"),
            told=Max("told_at"),
        )
        .order_by("-all_samples", "model_id")
    )
    names = _names(consent.team, [row["model_id"] for row in rows])
    return [
        SampledModel(
            model_id=row["model_id"],
            name=names[row["model_id"]],
            samples=row["all_samples"],
            size_bytes=row["all_bytes"],
            oldest_at=row["oldest"],
            told_at=row["told"],
        )
        for row in rows
        if row["model_id"] in names
    ]


def gateways_holding(consent: TrafficConsent, model_id: str) -> list[str]:
    return sorted(_reported(consent).filter(model_id=model_id).values_list("gateway_id", flat=True))


def gateways_reporting(ids: Collection[str]) -> set[str]:
    """Return which of these gateways were heard of lately, whatever they hold now."""
    rows = Gateway.objects.filter(id__in=ids, last_seen_at__gte=clock.now() - REPORTED_WITHIN)
    return set(rows.values_list("id", flat=True))


def _reported(consent: TrafficConsent) -> QuerySet[HeldSamples]:
    since = clock.now() - REPORTED_WITHIN
    return HeldSamples.objects.filter(consent=consent, samples__gt=0, told_at__gte=since)


def _names(team: Team, model_ids: Collection[str]) -> dict[str, str]:
    return {id: name for find in _finders for id, name in find(team, model_ids).items()}
