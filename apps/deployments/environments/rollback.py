"""Going back to what served before: a promotion like any other, of what has served there."""

from django.db import transaction

from apps.accounts.models import User
from apps.deployments.environments.promoting import environment_promote
from apps.deployments.environments.promotion import deployments_lock
from apps.deployments.environments.services import no_environment
from apps.deployments.history.switches import rollback_targets
from apps.deployments.models import Deployment, Environment, ServedModel
from apps.deployments.services.deployments import deployment_activate
from apps.rest.errors import Conflict
from controlplane.domain.lifecycle import DeploymentState

_OFF = frozenset({DeploymentState.INACTIVE, DeploymentState.DEACTIVATING})


@transaction.atomic
def environment_roll_back(
    *, environment: Environment, user: User | None = None, leaving: str = ""
) -> Deployment:
    """Return the deployment that the environment is now on its way back to, or points at already.

    `leaving` names what is rolled back: where something else serves by now, it is left alone.
    Raises Conflict, or NotFound where the environment has gone.
    """
    place = _locked(environment)
    _refuse_other(place, leaving)
    back_to = rollback_targets([place]).get(place.id)
    if back_to is None:
        raise _nothing_before(place)
    if back_to.state in _OFF:
        # In the order of all locks: these before the routes, which an activation holds.
        deployments_lock(place, back_to.id)
        deployment_activate(deployment=back_to)
    # Its answers are known, and those of what is left may be what is wrong.
    return environment_promote(
        environment=place, deployment=back_to, user=user, audited_as="roll_back",
        asks_answers=False,
    )  # fmt: skip


def _locked(environment: Environment) -> Environment:
    ServedModel.objects.select_for_update(no_key=True).filter(id=environment.model_id).first()
    places = Environment.objects.select_for_update(no_key=True).filter(id=environment.id)
    row = places.first()
    if row is None:
        raise no_environment(environment.name)
    return row


def _refuse_other(place: Environment, leaving: str) -> None:
    if leaving and place.current is not None and place.current_id != leaving:
        raise Conflict(
            f"`{place.name}` points at `{place.current.name}` by now, so nothing was rolled back.",
            hint="Look at what serves there, and roll that back.",
        )


def _nothing_before(place: Environment) -> Conflict:
    if place.candidate is not None:
        return Conflict(
            f"`{place.name}` is on its way to `{place.candidate.name}`.",
            hint="Cancel that promotion: traffic has not left what serves now.",
        )
    if place.promotion_version is not None:
        return Conflict(
            f"`{place.name}` has just moved, and not every gateway knows it yet.",
            hint="Roll back in a few seconds.",
        )
    return Conflict(
        f"Nothing that could serve again has served in `{place.name}` before.",
        hint="Promote another deployment there.",
    )
