"""What happened to promotions, and for how long that is kept."""

from datetime import timedelta

from django.db.models import QuerySet

from apps.deployments.environments.rolling.models import PromotionEvent
from apps.deployments.models import Environment
from controlplane import clock as wall_clock
from controlplane.clock import SYSTEM, Clock

EVENTS_KEPT = timedelta(days=90)
ITSELF = "Enginehouse"


def event_list(*, environment: Environment) -> QuerySet[PromotionEvent]:
    return PromotionEvent.objects.filter(environment=environment).order_by("-at", "-id")


def event_add(
    environment: Environment,
    *,
    code: str,
    sentence: str,
    percents: tuple[int, int],
    actor: str = ITSELF,
) -> None:
    """Record the event in the caller's transaction."""
    PromotionEvent.objects.create(
        environment=environment,
        candidate_id=environment.candidate_id or "",
        current_id=environment.current_id or "",
        at=wall_clock.now(),
        code=code,
        sentence=sentence,
        actor=actor,
        percent_before=percents[0],
        percent_after=percents[1],
    )


def events_prune(*, clock: Clock = SYSTEM) -> int:
    old = PromotionEvent.objects.filter(at__lt=clock.now() - EVENTS_KEPT)
    forgotten, _ = old.delete()
    return forgotten
