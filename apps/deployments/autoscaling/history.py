from datetime import timedelta

from django.db.models import QuerySet

from apps.deployments.autoscaling.models import ScalingDecision
from apps.deployments.models import Deployment
from controlplane.clock import SYSTEM, Clock

DECISIONS_KEPT = timedelta(days=30)


def decision_list(*, deployment: Deployment) -> QuerySet[ScalingDecision]:
    return ScalingDecision.objects.filter(deployment=deployment).order_by("-at", "-id")


def decisions_prune(*, clock: Clock = SYSTEM) -> int:
    old = ScalingDecision.objects.filter(at__lt=clock.now() - DECISIONS_KEPT)
    forgotten, _ = old.delete()
    return forgotten
