from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from apps.accounts.models import Team
from apps.builds.comparisons.comparison import ComparedPart, compare_settings
from apps.builds.models import Build
from apps.deployments.models import PRODUCTION, Deployment, Environment, ServedModel
from apps.deployments.selectors import deployment_list


class EffectKind(StrEnum):
    NEW_MODEL = "new_model"
    """Its first deployment is its production."""
    BESIDE = "beside"
    """Nothing that is called changes."""
    FIRST = "first"
    """Of an environment that points at nothing yet."""
    REPLACES = "replaces"


@dataclass(frozen=True, kw_only=True)
class Effect:
    kind: EffectKind
    model_name: str
    environment: str
    replaced: Deployment | None = None
    """What the environment points at now."""
    parts: Sequence[ComparedPart] = ()
    """In what the builds of the two differ; none where the old one's build is gone."""


def effect_of(*, team: Team, build: Build, model_name: str, environment: str) -> Effect:
    """Return what deploying the build there would change; without an environment, beside."""
    model = ServedModel.objects.filter(team=team, name=model_name).first()
    if model is None:
        return Effect(kind=EffectKind.NEW_MODEL, model_name=model_name, environment=PRODUCTION)
    if not environment:
        return Effect(kind=EffectKind.BESIDE, model_name=model_name, environment="")
    current = _current(model, environment)
    if current is None:
        return Effect(kind=EffectKind.FIRST, model_name=model_name, environment=environment)
    parts = compare_settings(current.build, build) if current.build else ()
    return Effect(
        kind=EffectKind.REPLACES,
        model_name=model_name,
        environment=environment,
        replaced=current,
        parts=parts,
    )


def default_environment(*, team: Team, model_name: str) -> str:
    """Return where a build goes unless someone says otherwise: never where something serves."""
    places = Environment.objects.filter(
        model__team=team, model__name=model_name, name=PRODUCTION, current__isnull=False
    )
    return "" if places.exists() else PRODUCTION


def _current(model: ServedModel, environment: str) -> Deployment | None:
    places = model.environments.filter(name=environment, current__isnull=False)
    deployments = deployment_list(team=model.team, model_id=model.id)
    return deployments.select_related("build__revision").filter(current_of__in=places).first()
