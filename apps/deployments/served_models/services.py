import re

from django.db import IntegrityError, transaction

from apps.accounts.audit.recording import audit
from apps.accounts.models import Team, User
from apps.accounts.routes_version import routes_version_bump
from apps.builds.models import Build
from apps.deployments.models import PRODUCTION, Deployment, Environment, Replica, ServedModel
from apps.deployments.services.deleting import silent_holders
from apps.deployments.services.deployments import deployment_create
from apps.rest.errors import Conflict, InvalidInput
from controlplane.domain.lifecycle import REPLICA_TERMINAL

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,127}")


@transaction.atomic
def model_create(
    *, team: Team, name: str, build: Build, user: User | None = None
) -> tuple[ServedModel, Deployment]:
    """Return a new model and its first deployment, which will become production.

    Raises InvalidInput or Conflict.
    """
    if not _NAME.fullmatch(name):
        raise InvalidInput(
            f"`{name}` is not a model name.",
            fields=["name"],
            hint="Use letters, digits, spaces, `.`, `_` and `-`, at most 128 characters.",
        )
    try:
        with transaction.atomic():
            model = ServedModel.objects.create(team=team, name=name)
    except IntegrityError:
        raise Conflict(
            f"Your team already has a model named `{name}`.",
            fields=["name"],
            hint="Choose another name, or add a deployment to that model.",
        ) from None
    Environment.objects.create(model=model, name=PRODUCTION)
    audit("model.create", model, team=team)
    return model, deployment_create(model=model, build=build, user=user)


@transaction.atomic
def model_delete(*, model: ServedModel) -> None:
    """Remove the model with all its deployments. Raises Conflict while one of them runs."""
    ServedModel.objects.select_for_update().get(id=model.id)
    live = Replica.objects.filter(deployment__model=model).exclude(state__in=REPLICA_TERMINAL)
    names = sorted(set(live.values_list("deployment__name", flat=True)))
    if names:
        raise Conflict(
            f"Model `{model.name}` still runs: {', '.join(f'`{name}`' for name in names)}.",
            hint=silent_holders(live) or "Deactivate these deployments first.",
        )
    audit("model.delete", model, team=model.team)
    deployments = list(model.deployments.values_list("id", flat=True))
    model_id = model.id
    model.delete()
    routes_version_bump(models=[model_id], deployments=deployments)
