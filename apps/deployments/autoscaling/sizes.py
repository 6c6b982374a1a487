"""Which deployments are sized by their load, and how large each is now."""

from collections.abc import Iterable, Mapping, Sequence

from django.db.models import Count, F, Min, Q

from apps.deployments.autoscaling.models import ScalingState
from apps.deployments.models import Deployment, Environment, Replica
from controlplane.domain.lifecycle import DeploymentState, ReplicaState
from controlplane.domain.scaling.decision import Memory, Size
from controlplane.domain.scaling.settings import ScalingSettings

SIZED = (
    DeploymentState.ACTIVE,
    DeploymentState.UNHEALTHY,
    DeploymentState.WAKING_UP,
    DeploymentState.SCALED_TO_ZERO,
)
"""One that has not served yet starts as it was told to, however long that takes."""


def deployments_sized() -> list[Deployment]:
    """Return those that a decision could change, without their large fields.

    What a promotion starts or ends has its size from that.
    """
    scheduled = Environment.objects.exclude(autoscaling_schedules={}).values("current_id")
    fixed = Q(wanted_replicas=F("min_replica")) & Q(wanted_replicas=F("max_replica"))
    # One that sleeps is woken with the report that tells of a request.
    asleep = Q(wanted_replicas=0, min_replica=0)
    is_free = ~(fixed | asleep) | Q(id__in=scheduled.filter(current_id__isnull=False))
    rows = Deployment.objects.filter(is_free, state__in=SIZED)
    moved = Q(candidate_of__isnull=False) | Q(retiring_from__isnull=False)
    # Of both deployments of a roll it is decided together, by the load of both.
    moved |= Q(current_of__candidate__isnull=False, current_of__promotion__has_key="plan")
    rows = rows.exclude(moved).select_related("scaling").defer("spec", "checkpoint")
    return list(rows.order_by("id"))


def settings_of(deployment: Deployment) -> ScalingSettings:
    settings = {**deployment.autoscaling, "min_replica": deployment.min_replica}
    return ScalingSettings.of({**settings, "max_replica": deployment.max_replica})


def sizes_of(deployments: Iterable[Deployment]) -> Mapping[str, Size]:
    rows = list(deployments)
    ready = _ready([each.id for each in rows])
    return {
        each.id: Size(
            wanted=each.wanted_replicas,
            ready=ready.get(each.id, (0, None))[0],
            ready_since=ready.get(each.id, (0, None))[1],
            failed_starts=each.start_failures,
        )
        for each in rows
    }


def _ready(ids: Sequence[str]) -> dict[str, tuple[int, float | None]]:
    rows = Replica.objects.filter(
        deployment_id__in=ids, wanted="running", state=ReplicaState.READY
    ).values("deployment_id")
    counted = rows.annotate(count=Count("id"), since=Min("ready_at")).order_by()
    return {
        each["deployment_id"]: (each["count"], each["since"].timestamp() if each["since"] else None)
        for each in counted
    }


def memory_of(deployment: Deployment) -> Memory:
    row: ScalingState | None = getattr(deployment, "scaling", None)
    if row is None:
        return Memory()
    return Memory(
        low_since=row.low_since.timestamp() if row.low_since else None,
        raised_at=row.raised_at.timestamp() if row.raised_at else None,
    )
