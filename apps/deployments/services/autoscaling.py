"""Autoscaling settings: what this release acts on, and what it keeps for later."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from apps.accounts.audit.recording import audit
from apps.deployments.checks import refuse_more_replicas_than_devices
from apps.deployments.models import Deployment, Environment
from apps.deployments.plan import is_at_rest
from apps.deployments.services.reconcile import deployment_settle_after_commit
from apps.rest.errors import InvalidInput

AUTOSCALING_DEFAULTS: Mapping[str, Any] = {
    "autoscaling_window": 60,
    "scale_down_delay": 900,
    "concurrency_target": 1,
    "target_utilization_percentage": 70,
    "target_in_flight_tokens": None,
    "max_scale_down_rate": 50,
}
"""Source: the hosted product's autoscaling page, read 2026-11-27."""


@dataclass(frozen=True, kw_only=True)
class AutoscalingAnswer:
    """What became of the wish, in the hosted product's words."""

    status: str
    message: str


def autoscaling_settings(deployment: Deployment) -> dict[str, Any]:
    """Return all settings, the stored ones over the defaults."""
    return {
        "min_replica": deployment.min_replica,
        "max_replica": deployment.max_replica,
        **AUTOSCALING_DEFAULTS,
        **deployment.autoscaling,
    }


@transaction.atomic
def autoscaling_update(*, deployment: Deployment, changes: Mapping[str, Any]) -> AutoscalingAnswer:
    """Store the changes and run as many replicas as they ask for. Raises InvalidInput."""
    places = Environment.objects.select_for_update(no_key=True).filter(current=deployment)
    environments = list(places.order_by("id"))
    row = Deployment.objects.select_for_update(no_key=True).get(id=deployment.id)
    before = autoscaling_settings(row)
    after = {**before, **changes}
    if after == before:
        return AutoscalingAnswer(status="UNCHANGED", message="Nothing differs from what is set.")
    low, high = _bounds(after)
    if low > before["min_replica"]:
        refuse_more_replicas_than_devices(spec=row.spec, replicas=low)
    # Nothing wakes a sleeping deployment but a person, or a promotion.
    Deployment.objects.filter(id=row.id).update(
        min_replica=low,
        max_replica=high,
        wanted_replicas=0 if is_at_rest(row) else max(1, low),
        autoscaling={key: after[key] for key in AUTOSCALING_DEFAULTS},
    )
    audit(
        "deployment.autoscale",
        row,
        team=row.model.team,
        label=f"{row.model.name}/{row.name}",
        before=before,
        after=after,
    )
    for environment in environments:
        environment.autoscaling_settings = after
        environment.save(update_fields=["autoscaling_settings"])
    deployment_settle_after_commit(deployment_id=row.id)
    return AutoscalingAnswer(status="ACCEPTED", message=_words(low))


def _bounds(settings: Mapping[str, Any]) -> tuple[int, int]:
    low, high = int(settings["min_replica"]), int(settings["max_replica"])
    if low > high:
        raise InvalidInput(
            f"`min_replica` {low} is above `max_replica` {high}.",
            fields=["min_replica", "max_replica"],
            hint="Raise `max_replica`, or lower `min_replica`.",
        )
    return low, high


def _words(low: int) -> str:
    return (
        f"Stored. This release runs a fixed number of replicas, now {max(1, low)}: "
        "`max(1, min_replica)`. It does not follow the load yet."
    )
