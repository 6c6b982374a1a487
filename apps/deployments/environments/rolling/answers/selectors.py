from datetime import timedelta

from django.db.models import F, Prefetch

from apps.deployments.models import AnswerCheck, AnswerPair, Environment
from controlplane.clock import SYSTEM, Clock
from controlplane.domain.lifecycle import ANSWER_CHECK_TERMINAL

CHECKS_KEPT = timedelta(days=90)


def answer_check_last(*, environment: Environment) -> AnswerCheck | None:
    pairs = Prefetch("pairs", AnswerPair.objects.order_by("number"))
    checks = AnswerCheck.objects.filter(environment=environment).prefetch_related(pairs)
    return checks.order_by("-created_at", "-id").first()


def answer_checks_prune(*, clock: Clock = SYSTEM) -> int:
    old = AnswerCheck.objects.filter(
        created_at__lt=clock.now() - CHECKS_KEPT, state__in=ANSWER_CHECK_TERMINAL
    )
    # A promotion that was paused for so long has yet to read what its own came to.
    over = old.exclude(environment__candidate_id=F("candidate_id"))
    forgotten, _ = over.delete()
    return forgotten
