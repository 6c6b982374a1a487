"""Autoscaling settings of a deployment, which its environments keep for what comes after it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from apps.accounts.audit.recording import audit
from apps.accounts.routes_version import routes_version_bump
from apps.deployments.autoscaling.sizes import settings_of
from apps.deployments.autoscaling.waking import deployment_wake
from apps.deployments.checks import refuse_more_replicas_than_devices
from apps.deployments.models import Deployment, Environment
from apps.deployments.plan import is_asleep, is_at_rest
from apps.deployments.services.reconcile import deployment_settle_after_commit
from apps.rest.errors import InvalidInput
from controlplane.domain.counted import counted
from controlplane.domain.scaling.settings import ScalingSettings, problems_of


@dataclass(frozen=True, kw_only=True)
class AutoscalingAnswer:
    """What became of the wish, in the hosted product's words."""

    status: str
    message: str


def autoscaling_settings(deployment: Deployment) -> dict[str, Any]:
    return settings_of(deployment).to_json()


@transaction.atomic
def autoscaling_update(*, deployment: Deployment, changes: Mapping[str, Any]) -> AutoscalingAnswer:
    """Store the changes; the next decision goes by them. Raises InvalidInput."""
    places = Environment.objects.select_for_update(no_key=True).filter(current=deployment)
    environments = list(places.order_by("id"))
    row = Deployment.objects.select_for_update(no_key=True).get(id=deployment.id)
    before = autoscaling_settings(row)
    after = _changed(row, changes)
    if after.to_json() == before:
        return AutoscalingAnswer(status="UNCHANGED", message="Nothing differs from what is set.")
    if after.min_replica > before["min_replica"]:
        refuse_more_replicas_than_devices(spec=row.spec, replicas=after.min_replica)
    _store(row, after, changes, is_woken=after.min_replica > before["min_replica"])
    if row.backpressure_policy and after.concurrency_target != before["concurrency_target"]:
        routes_version_bump(deployments=[row.id])
    _audit(row, before, after.to_json())
    for environment in environments:
        environment.autoscaling_settings = after.to_json()
        environment.save(update_fields=["autoscaling_settings"])
    deployment_settle_after_commit(deployment_id=row.id)
    return AutoscalingAnswer(status="ACCEPTED", message=_words(after))


def _changed(row: Deployment, changes: Mapping[str, Any]) -> ScalingSettings:
    """Return the settings with the changes. Raises InvalidInput for what contradicts itself."""
    kept = {**row.autoscaling, "max_replica": row.max_replica}
    if row.min_replica:
        kept["min_replica"] = row.min_replica
    after = ScalingSettings.of({**kept, **changes})
    for names, sentence, hint in problems_of(changes, after):
        raise InvalidInput(sentence, fields=names.split(","), hint=hint)
    return after


def _store(
    row: Deployment, after: ScalingSettings, changes: Mapping[str, Any], *, is_woken: bool
) -> None:
    values: dict[str, Any] = {
        "min_replica": after.min_replica,
        "max_replica": after.max_replica,
        # What nobody set keeps its default, which goes by the others.
        "autoscaling": {**row.autoscaling, **changes},
    }
    if not is_at_rest(row):
        values["wanted_replicas"] = max(1, after.within(row.wanted_replicas))
    Deployment.objects.filter(id=row.id).update(**values)
    if is_woken and is_asleep(row):
        row.refresh_from_db()
        why = f"`min_replica` was set to {after.min_replica}."
        deployment_wake(deployment=row, why=why)


def _audit(row: Deployment, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    audit(
        "deployment.autoscale",
        row,
        team=row.model.team,
        label=f"{row.model.name}/{row.name}",
        before=before,
        after=after,
    )


def _words(after: ScalingSettings) -> str:
    low, high = after.min_replica, after.max_replica
    if low == high:
        return f"Stored. It runs {counted(low, 'replica')}, whatever the load."
    sleeps = " It sleeps without requests, and a request wakes it." if low == 0 else ""
    return f"Stored. It follows the load between {low} and {high} replicas.{sleeps}"
