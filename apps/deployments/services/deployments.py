"""Deployments: made from builds, switched on and off, tried again, renamed, removed."""

import re
from typing import Any

from django.db import transaction

from apps.accounts.audit.recording import Values, audit
from apps.accounts.models import User
from apps.accounts.routes_version import routes_version_bump
from apps.builds.artifacts.deleting import artifact_keep
from apps.builds.models import Build
from apps.builds.services.requests import build_retry
from apps.deployments.checks import (
    refuse_build,
    refuse_more_replicas_than_devices,
    refuse_ungranted_code,
)
from apps.deployments.environments.services import environment_name_candidate
from apps.deployments.models import PRODUCTION, Deployment, Environment, ServedModel
from apps.deployments.nodes.failed_starts import failed_starts_retry_now
from apps.deployments.plan import STARTS_REPLICAS, is_asleep
from apps.deployments.services.builds import checkpoint_of
from apps.deployments.services.reconcile import deployment_settle_after_commit
from apps.rest.errors import Conflict, InvalidInput
from controlplane.domain.lifecycle import (
    DEPLOYMENT_TERMINAL,
    BuildState,
    DeploymentState,
)
from controlplane.domain.spec import Spec

_NAME = re.compile(r"[A-Za-z0-9._-]{1,255}")
_DEFAULT_NAME = re.compile(r"deployment-(\d+)")
_BUILD_OVER = frozenset({DeploymentState.BUILD_FAILED, DeploymentState.BUILD_STOPPED})


@transaction.atomic
def deployment_create(
    *,
    model: ServedModel,
    build: Build,
    environment: str | None = None,
    name: str | None = None,
    user: User | None = None,
) -> Deployment:
    """Return a new deployment of the build's artifact; it waits while the build runs.

    The first one of a model becomes production; `environment` names another place to promote to.
    Raises InvalidInput, Conflict, or NotFound where the artifact was deleted meanwhile.
    """
    refuse_build(model, build)
    if build.artifact_id is not None:
        artifact_keep(artifact_id=build.artifact_id)
    ServedModel.objects.select_for_update(no_key=True).get(id=model.id)
    refuse_ungranted_code(build.artifact)
    refuse_more_replicas_than_devices(
        spec=build.spec, replicas=_replicas_to_run(model, environment)
    )
    deployment = Deployment.objects.create(
        model=model,
        name=_name(model, name),
        created_by=user,
        **_from_build(build),
    )
    audited = {"build": build.number, "environment": environment}
    deployment_audit("create", deployment, after=audited)
    _promote_when_ready(deployment, environment)
    routes_version_bump(models=[model.id], deployments=[deployment.id])
    deployment_settle_after_commit(deployment_id=deployment.id)
    return deployment


@transaction.atomic
def deployment_copy(*, deployment: Deployment, user: User | None = None) -> Deployment:
    """Return a new deployment of the same artifact with the same settings.

    Raises Conflict for an artifact whose own code nobody lets run any more.
    """
    refuse_ungranted_code(deployment.artifact)
    ServedModel.objects.select_for_update(no_key=True).get(id=deployment.model_id)
    copy = Deployment.objects.create(
        model=deployment.model,
        name=_name(deployment.model, None),
        build=deployment.build,
        artifact=deployment.artifact,
        runtime=deployment.runtime,
        spec=deployment.spec,
        checkpoint=deployment.checkpoint,
        state=DeploymentState.DEPLOYING,
        wanted_replicas=max(1, deployment.min_replica),
        min_replica=deployment.min_replica,
        max_replica=deployment.max_replica,
        autoscaling=deployment.autoscaling,
        backpressure_policy=deployment.backpressure_policy,
        created_by=user,
    )
    deployment_audit("copy", copy, before={"name": deployment.name})
    routes_version_bump(deployments=[copy.id])
    deployment_settle_after_commit(deployment_id=copy.id)
    return copy


@transaction.atomic
def deployment_activate(*, deployment: Deployment) -> bool:
    """Return whether anything had to be done to have the deployment run again. Raises Conflict."""
    row = _locked(deployment)
    if row.state in {DeploymentState.INACTIVE, DeploymentState.DEACTIVATING}:
        _start_over(row, DeploymentState.DEPLOYING)
        deployment_audit("activate", row, before={"state": row.state})
        return True
    if is_asleep(row):
        _start_over(row, DeploymentState.WAKING_UP)
        deployment_audit("activate", row, before={"state": row.state})
        return True
    if row.state in DEPLOYMENT_TERMINAL:
        raise Conflict(
            f"Deployment `{row.name}` is {_words(row.state)} and cannot be activated.",
            hint="Retry it, or build again.",
        )
    return False


@transaction.atomic
def deployment_deactivate(*, deployment: Deployment) -> bool:
    """Return whether anything had to be done; its replicas leave the routes, then end."""
    row = _locked(deployment)
    if row.state in {DeploymentState.INACTIVE, DeploymentState.DEACTIVATING}:
        return False
    if row.state == DeploymentState.BUILDING or row.state in _BUILD_OVER:
        raise Conflict(
            f"Deployment `{row.name}` is {_words(row.state)}: nothing of it runs.",
            hint="Cancel its build, or delete the deployment.",
        )
    Deployment.objects.filter(id=row.id).update(
        state=DeploymentState.DEACTIVATING,
        wanted_replicas=0,
        failure=None,
        last_failure=None,
        degraded_since=None,
    )
    deployment_audit("deactivate", row, before={"state": row.state})
    routes_version_bump(deployments=[row.id])
    deployment_settle_after_commit(deployment_id=row.id)
    return True


@transaction.atomic
def deployment_retry(*, deployment: Deployment) -> tuple[bool, str | None]:
    """Return whether the deployment is tried again, and why not otherwise."""
    row = locked_with_environments(deployment)
    if row.state in _BUILD_OVER and row.build is not None:
        build_retry(build=row.build)
        _wait_for_build(row)
        deployment_audit("retry", row, before={"state": row.state})
        return True, None
    was_waiting = failed_starts_retry_now(deployment=row) or row.start_failures > 0
    if row.state in {DeploymentState.DEPLOY_FAILED, DeploymentState.FAILED}:
        _start_over(row, DeploymentState.DEPLOYING)
        _promote_when_ready(row, None)
        deployment_audit("retry", row, before={"state": row.state})
        return True, None
    if row.state == DeploymentState.UNHEALTHY or (was_waiting and row.state in STARTS_REPLICAS):
        _start_over(row, DeploymentState(row.state))
        deployment_audit("retry", row, before={"state": row.state})
        return True, None
    return False, f"Deployment `{row.name}` is {_words(row.state)}: there is nothing to retry."


@transaction.atomic
def deployment_rejoin_build(*, deployment: Deployment) -> None:
    """Wait again for a build that was tried again from its own page."""
    row = locked_with_environments(deployment)
    if row.state in _BUILD_OVER:
        _wait_for_build(row)


@transaction.atomic
def deployment_rename(*, deployment: Deployment, name: str) -> Deployment:
    """Return the deployment under its new name. Raises InvalidInput or Conflict."""
    ServedModel.objects.select_for_update(no_key=True).get(id=deployment.model_id)
    if name != deployment.name:
        Deployment.objects.filter(id=deployment.id).update(name=_name(deployment.model, name))
        deployment_audit(
            "rename", deployment, before={"name": deployment.name}, after={"name": name}
        )
        deployment.refresh_from_db()
        routes_version_bump(deployments=[deployment.id])
    return deployment


def deployment_audit(
    what: str, deployment: Deployment, *, before: Values | None = None, after: Values | None = None
) -> None:
    model = deployment.model
    audit(
        f"deployment.{what}",
        deployment,
        team=model.team,
        label=f"{model.name}/{deployment.name}",
        before=before,
        after=after,
    )


def _from_build(build: Build) -> dict[str, Any]:
    spec = build.spec
    values = {"build": build, "spec": spec, "runtime": Spec.model_validate(spec).runtime_name}
    if build.state != BuildState.SUCCEEDED:
        return {**values, "state": DeploymentState.BUILDING}
    return {
        **values,
        "state": DeploymentState.DEPLOYING,
        "artifact": build.artifact,
        "checkpoint": checkpoint_of(build),
    }


def _name(model: ServedModel, wanted_name: str | None) -> str:
    taken = set(Deployment.objects.filter(model=model).values_list("name", flat=True))
    if wanted_name is None:
        numbers = [int(match[1]) for name in taken if (match := _DEFAULT_NAME.fullmatch(name))]
        return f"deployment-{max(numbers, default=0) + 1}"
    if not _NAME.fullmatch(wanted_name):
        raise InvalidInput(
            f"`{wanted_name}` is not a deployment name.",
            fields=["name"],
            hint="Use letters, digits, `-`, `_` and `.`, at most 255 characters.",
        )
    if wanted_name in taken:
        raise Conflict(
            f"Model `{model.name}` already has a deployment `{wanted_name}`.", fields=["name"]
        )
    return wanted_name


def _replicas_to_run(model: ServedModel, environment: str | None) -> int:
    """Return how many the place that it is made for runs; it takes over that number."""
    place = Environment.objects.filter(model=model, name=environment or "").first()
    settings = place.autoscaling_settings if place else None
    return int((settings or {}).get("min_replica", 1))


def _promote_when_ready(deployment: Deployment, environment: str | None) -> None:
    if environment is not None and environment != PRODUCTION:
        environment_name_candidate(model_id=deployment.model_id, name=environment, to=deployment)
        return
    place = Environment.objects.get(model_id=deployment.model_id, name=PRODUCTION)
    is_first = place.current_id is None and place.candidate_id is None
    if is_first or environment == PRODUCTION:
        environment_name_candidate(model_id=deployment.model_id, name=PRODUCTION, to=deployment)


def _wait_for_build(row: Deployment) -> None:
    Deployment.objects.filter(id=row.id).update(state=DeploymentState.BUILDING, failure=None)
    _promote_when_ready(row, None)
    routes_version_bump(models=[row.model_id], deployments=[row.id])


def _start_over(row: Deployment, state: DeploymentState) -> None:
    refuse_ungranted_code(row.artifact)
    Deployment.objects.filter(id=row.id).update(
        state=state,
        failure=None,
        last_failure=None,
        degraded_since=None,
        start_failures=0,
        wanted_replicas=max(1, row.min_replica, row.wanted_replicas),
    )
    # The model too: whoever starts over may have it promoted.
    routes_version_bump(models=[row.model_id], deployments=[row.id])
    deployment_settle_after_commit(deployment_id=row.id)


def _locked(deployment: Deployment) -> Deployment:
    return Deployment.objects.select_for_update(no_key=True).get(id=deployment.id)


def locked_with_environments(deployment: Deployment) -> Deployment:
    """Return the deployment, locked after the environments of its model, as everywhere."""
    list(Environment.objects.select_for_update(no_key=True).filter(model_id=deployment.model_id))
    return _locked(deployment)


def _words(state: str) -> str:
    return state.replace("_", " ")
