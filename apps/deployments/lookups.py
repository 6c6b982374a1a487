"""One model, deployment or environment of a team, or the error that there is none."""

from collections.abc import Collection

from apps.accounts.models import Team
from apps.builds.models import Build
from apps.deployments.models import Deployment, Environment, ServedModel
from apps.deployments.selectors import deployment_list, environment_list, model_list
from apps.deployments.services.environments import PRODUCTION
from apps.rest.errors import InvalidInput, NotFound


def model_get(*, team: Team, model_id: str) -> ServedModel:
    """Raises NotFound."""
    found = model_list(team=team).filter(id=model_id).first()
    if found is None:
        raise NotFound(f"There is no model `{model_id}`.")
    return found


def models_among(team: Team, ids: Collection[str]) -> Collection[str]:
    """Return those of the ids that are models of the team."""
    return model_list(team=team).filter(id__in=ids).values_list("id", flat=True)


def environments_among(
    team: Team, names: Collection[str], model_ids: Collection[str] | None
) -> Collection[str]:
    """Return those of the names that are environments of the models, or of any of the team's."""
    found = Environment.objects.filter(model__in=model_list(team=team), name__in=names)
    if model_ids is not None:
        found = found.filter(model_id__in=model_ids)
    return found.values_list("name", flat=True)


def deployment_get(*, team: Team, model_id: str, deployment_id: str) -> Deployment:
    """Return the deployment of that id, or the current one for `production`. Raises NotFound."""
    if deployment_id == PRODUCTION:
        return _current(team, model_id)
    found = deployment_list(team=team, model_id=model_id).filter(id=deployment_id).first()
    if found is None:
        raise NotFound(f"Model `{model_id}` has no deployment `{deployment_id}`.")
    return found


def environment_get(*, team: Team, model_id: str, name: str) -> Environment:
    """Raises NotFound."""
    found = environment_list(team=team, model_id=model_id).filter(name=name).first()
    if found is None:
        raise NotFound(f"Model `{model_id}` has no environment `{name}`.")
    return found


def build_get(*, team: Team, build_id: str) -> Build:
    """Return the build that a deployment is to be made from. Raises InvalidInput."""
    found = Build.objects.select_related("revision").filter(team=team, id=build_id).first()
    if found is None:
        raise InvalidInput(
            f"There is no build `{build_id}`.",
            fields=["source.build_id"],
            hint="`GET /v1/builds` lists the team's builds.",
        )
    return found


def _current(team: Team, model_id: str) -> Deployment:
    current = environment_get(team=team, model_id=model_id, name=PRODUCTION).current
    if current is None:
        raise NotFound(f"Model `{model_id}` has nothing in production yet.")
    return deployment_get(team=team, model_id=model_id, deployment_id=current.id)
