"""A person's or a program's wish to promote."""

from typing import Any

from django.db import transaction
from django.db.models import F, Q

from apps.accounts.models import Team, User
from apps.accounts.routes_version import routes_version_bump
from apps.deployments.environments.promotion import (
    deployments_lock,
    environment_advance,
    environment_switch,
)
from apps.deployments.environments.promotion_settings import promotion_settings
from apps.deployments.environments.services import (
    candidate_name,
    deployment_may_be_promoted,
    environment_audit_beside,
    no_environment,
)
from apps.deployments.models import Deployment, Environment, ServedModel
from apps.deployments.plan import is_at_rest
from apps.deployments.services.deployments import deployment_activate, deployment_copy
from apps.deployments.services.reconcile import deployment_reconcile, deployment_settle_after_commit
from apps.fleet.selectors import gateways_have_applied
from apps.rest.errors import NotFound
from controlplane.compiled_query import CompiledQuery

_LOCKED = CompiledQuery(
    int, lambda id: Environment.objects.filter(id=id).select_for_update(no_key=True)
)
_LOCKED_MODEL = CompiledQuery(
    str,
    lambda id: (
        ServedModel.objects.filter(id=id)
        .annotate(team_name=F("team__name"))
        .select_for_update(of=("self",), no_key=True)
    ),
)
_SERVED_BY = CompiledQuery(
    str, lambda id: Environment.objects.filter(Q(current_id=id) | Q(candidate_id=id)).only("id")
)
"""The environments of a deployment, and those on their way to it."""


@transaction.atomic
def environment_promote(
    *,
    environment: Environment,
    deployment: Deployment,
    scale_down_previous: bool = True,
    user: User | None = None,
    audited_as: str = "promote",
    asks_answers: bool = True,
) -> Deployment:
    """Return the deployment that `environment` is now on its way to, or points at already.

    It is a copy where the given one already serves another environment. Without `asks_answers`
    the environment's answer guard is passed over. Raises Conflict, or
    NotFound where one of them has gone meanwhile.
    """
    place, row = _locked(environment, deployment)
    deployment_may_be_promoted(row, place)
    candidate = _candidate(place, row, user)
    before = place.current_id
    candidate_name(
        place, to=candidate, keep_previous=not scale_down_previous, asks_answers=asks_answers
    )
    entry = environment_audit_beside(
        audited_as, place, before={"deployment": before}, after={"deployment": candidate.id}
    )
    if is_at_rest(candidate):
        deployment_activate(deployment=candidate)
    switch = environment_switch(place, beside=[entry])
    if switch.is_done:
        # It carries the traffic already: what is left waits for gateways, if any lives.
        transaction.on_commit(lambda: _finish(place), robust=True)
        if switch.is_resized:
            deployment_settle_after_commit(deployment_id=candidate.id)
        return candidate
    place.save(update_fields=["candidate", "promotion"])
    # The environment names its first candidate from now on.
    named = {"models": [candidate.model_id], "deployments": [candidate.id]}
    routes_version_bump(**named, beside=[entry])
    deployment_settle_after_commit(deployment_id=candidate.id)
    return candidate


def _locked(environment: Environment, deployment: Deployment) -> tuple[Environment, Deployment]:
    """Return both as they are, locked with all that the promotion may change.

    In the order that holds everywhere: model, environment, deployments by id, and routes last.
    Whoever has changed one holds them to the end of the transaction, and must not wait for anything
    else in it.
    """
    model: Any = _LOCKED_MODEL.first(environment.model_id)
    place = _LOCKED.first(environment.id)
    if model is None or place is None:
        raise no_environment(environment.name)
    model.team = Team(id=model.team_id, name=model.team_name)
    place.model = model
    row = deployments_lock(place, deployment.id).get(deployment.id)
    if row is None:
        raise NotFound(f"There is no deployment `{deployment.name}` any more.")
    return place, row


def _candidate(place: Environment, row: Deployment, user: User | None) -> Deployment:
    elsewhere = {each.id for each in _SERVED_BY.rows(row.id)} - {place.id}
    if promotion_settings(place)["redeploy_on_promotion"] or elsewhere:
        return deployment_copy(deployment=row, user=user)
    return row


def _finish(place: Environment) -> None:
    if gateways_have_applied(place.promotion_version or 0):
        for released_id in environment_advance(environment_id=place.id):
            deployment_reconcile(deployment_id=released_id)
