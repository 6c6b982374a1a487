"""What environments have pointed at, and what each would go back to."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from django.db.models import F, Window
from django.db.models.functions import RowNumber

from apps.deployments.history.models import EnvironmentSwitch
from apps.deployments.models import Deployment, Environment
from controlplane.domain.lifecycle import DEPLOYMENT_TERMINAL, DeploymentState

LOOKED_BACK = 200
_PLACE = Window(RowNumber(), partition_by=F("environment_id"), order_by=F("id").desc())
_COMES_BACK = frozenset(DeploymentState) - (DEPLOYMENT_TERMINAL - {DeploymentState.INACTIVE})
"""States of what can serve again; an inactive one is activated first."""


def rollback_targets(environments: Collection[Environment]) -> Mapping[int, Deployment]:
    """Return by environment the deployment that served there before the one that does now.

    Going back takes a step away: a second time leads one step further, not forth again. One that
    was deleted or has failed is passed over.
    """
    served = _served(environments)
    before = {
        each.id: _before(served[each.id], each.current_id or "")
        for each in environments
        if each.current_id and each.candidate_id is None and each.promotion_version is None
    }
    target_ids = {id for ids in before.values() for id in ids}
    fit = {
        row.id: row
        for row in Deployment.objects.filter(id__in=target_ids, state__in=_COMES_BACK)
        .select_related("model")
        .defer("spec", "checkpoint")
    }
    deployments = {
        place: next((fit[id] for id in ids if id in fit), None) for place, ids in before.items()
    }
    return {place: row for place, row in deployments.items() if row is not None}


def _served(environments: Collection[Environment]) -> Mapping[int, Sequence[str]]:
    served: dict[int, list[str]] = defaultdict(list)
    rows = EnvironmentSwitch.objects.filter(environment__in=environments).annotate(place=_PLACE)
    latest = rows.filter(place__lte=LOOKED_BACK).order_by("id")
    for environment, deployment in latest.values_list("environment_id", "deployment_id"):
        served[environment].append(deployment)
    return served


def _before(served: Sequence[str], current: str) -> Sequence[str]:
    """Return what served before `current`, the last first, without what was gone back from."""
    steps: list[str] = []
    for each in served:
        if each in steps:
            del steps[steps.index(each) + 1 :]
        else:
            steps.append(each)
    return steps[: steps.index(current)][::-1] if current in steps else []
