"""Single requests of the deployments of a guarded roll, as the gateways' usage tells them."""

from collections.abc import Collection, Iterable
from datetime import UTC, datetime, timedelta

from django.db.models import Count

from apps.deployments.environments.rolling.models import PromotionSample
from apps.deployments.models import Environment
from apps.telemetry.services.usage import UsageRecord
from controlplane.clock import SYSTEM, Clock
from controlplane.domain.rolling.slo_guard import MOST_REQUESTS, EndedRequest

SAMPLES_KEPT = timedelta(days=1)
_SERVED, _BROKE = 2, 5


def samples_add(records: Iterable[UsageRecord]) -> None:
    """Keep those that a guard is to judge; what clients did wrong or gave up says nothing."""
    counted = [each for each in records if each.status_class in (_SERVED, _BROKE)]
    watched = _watched({each.deployment_id for each in counted})
    if watched:
        rows = [_sample(each) for each in counted if each.deployment_id in watched]
        PromotionSample.objects.bulk_create(rows, ignore_conflicts=True)


def samples_of(deployment_id: str, since: datetime) -> list[EndedRequest]:
    """Return what was asked of the deployment since then, the oldest first."""
    rows = PromotionSample.objects.filter(deployment_id=deployment_id, at__gte=since)
    return [
        EndedRequest(
            request_id=each.request_id,
            is_failed=each.is_failed,
            first_token_seconds=each.first_token_seconds,
            inter_token_seconds=each.inter_token_seconds,
        )
        for each in rows.order_by("at", "id")[:MOST_REQUESTS]
    ]


def samples_count(deployment_id: str, since: datetime) -> int:
    """Return how many requests of the deployment are kept since then."""
    return PromotionSample.objects.filter(deployment_id=deployment_id, at__gte=since).count()


def samples_drop(deployment_ids: Collection[str | None]) -> None:
    """Forget what was asked of these deployments: each share of traffic is judged by itself."""
    PromotionSample.objects.filter(deployment_id__in=deployment_ids).delete()


def samples_prune(*, clock: Clock = SYSTEM) -> int:
    old = PromotionSample.objects.filter(at__lt=clock.now() - SAMPLES_KEPT)
    forgotten, _ = old.delete()
    return forgotten


def _watched(deployment_ids: Collection[str]) -> set[str]:
    """Return those of the deployments that a guard watches, and of which more is to be known."""
    places = Environment.objects.filter(candidate__isnull=False, promotion__has_key="guard")
    pairs = places.values_list("candidate_id", "current_id")
    watched = {id for pair in pairs for id in pair if id in deployment_ids}
    if not watched:
        return set()
    counted = PromotionSample.objects.filter(deployment_id__in=watched).values_list("deployment_id")
    full = {id for id, count in counted.annotate(Count("id")) if count >= MOST_REQUESTS}
    return watched - full


def _sample(record: UsageRecord) -> PromotionSample:
    return PromotionSample(
        deployment_id=record.deployment_id,
        request_id=record.request_id[:64],
        at=datetime.fromtimestamp(record.at, UTC),
        is_failed=record.status_class == _BROKE,
        first_token_seconds=record.first_token_seconds,
        inter_token_seconds=_inter_token_seconds(record),
    )


def _inter_token_seconds(record: UsageRecord) -> float | None:
    first, whole, tokens = (
        record.first_token_seconds, record.duration_seconds, record.completion_tokens or 0,
    )  # fmt: skip
    if first is None or whole is None or tokens < 2:
        return None
    return max(0.0, whole - first) / (tokens - 1)
