"""What a restricted environment refuses: every change of it and of what is deployed there."""

from collections.abc import Iterable

from django.db.models import Q

from apps.accounts.permissions import Action, Actor, allowed, require
from apps.deployments.models import PRODUCTION, Deployment, Environment, ServedModel


def require_environment(actor: Actor, name: str) -> None:
    """Return if the actor may change environments of that name. Raises NotAllowed."""
    require(actor, Action.WRITE, environment=name)


def require_deployment(actor: Actor, deployment: Deployment) -> Deployment:
    """Return the deployment if the actor may change where it serves. Raises NotAllowed."""
    places = Environment.objects.filter(Q(current=deployment) | Q(candidate=deployment))
    for name in places.values_list("name", flat=True):
        require_environment(actor, name)
    return deployment


def require_model(actor: Actor, model: ServedModel) -> ServedModel:
    """Return the model if the actor may change all of its environments. Raises NotAllowed."""
    for name in model.environments.values_list("name", flat=True):
        require_environment(actor, name)
    return model


def closed_environments(actor: Actor, environments: Iterable[Environment]) -> frozenset[str]:
    return closed_names(actor, {environment.name for environment in environments})


def closed_names(actor: Actor, names: Iterable[str]) -> frozenset[str]:
    restricted = actor.team.restricted_environments.filter(name__in=set(names))
    return frozenset(
        each.name for each in restricted if not allowed(actor, Action.WRITE, environment=each.name)
    )


def require_first_place(actor: Actor, model: ServedModel | None, environment: str | None) -> None:
    """Return if the actor may deploy to there; a model's first deployment becomes production.

    Raises NotAllowed.
    """
    is_first = model is None or not model.deployments.exists()
    for name in {environment, PRODUCTION if is_first else None} - {None}:
        require_environment(actor, str(name))
