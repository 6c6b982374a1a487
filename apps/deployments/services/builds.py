from django.db import transaction

from apps.accounts.routes_version import routes_version_bump
from apps.builds.models import Build
from apps.deployments.models import Deployment
from apps.deployments.services.reconcile import deployment_settle
from controlplane.domain.lifecycle import BUILD_TERMINAL, BuildState, DeploymentState


def deployments_after_build(*, build_id: str) -> None:
    """Move every deployment that waited for this build; a repeat changes nothing."""
    build = Build.objects.select_related("artifact").get(id=build_id)
    if build.state not in BUILD_TERMINAL:
        return
    waiting = Deployment.objects.filter(build=build, state=DeploymentState.BUILDING)
    for deployment_id in list(waiting.values_list("id", flat=True)):
        _follow(deployment_id, build)
        deployment_settle(deployment_id=deployment_id)


def checkpoint_of(build: Build) -> dict[str, object] | None:
    step = build.steps.filter(name="inspect").first()
    result = step.result if step else None
    return result.get("checkpoint") if result else None


@transaction.atomic
def _follow(deployment_id: str, build: Build) -> None:
    changes: dict[str, object] = {"failure": build.failure}
    if build.state == BuildState.SUCCEEDED:
        changes |= {
            "state": DeploymentState.DEPLOYING,
            "artifact": build.artifact,
            "checkpoint": checkpoint_of(build),
        }
    elif build.state == BuildState.CANCELLED:
        changes["state"] = DeploymentState.BUILD_STOPPED
    else:
        changes["state"] = DeploymentState.BUILD_FAILED
    moved = Deployment.objects.filter(id=deployment_id, state=DeploymentState.BUILDING)
    if moved.update(**changes):
        routes_version_bump(deployments=[deployment_id])
