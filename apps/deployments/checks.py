from collections.abc import Mapping
from typing import Any

from apps.builds.models import Artifact, Build
from apps.builds.remote_code import is_granted
from apps.configs.selectors import host_offers
from apps.deployments.models import ServedModel
from apps.rest.errors import Conflict, InvalidInput
from controlplane.domain.lifecycle import BuildState
from controlplane.domain.remote_code import short_commit
from controlplane.domain.rules import Known, diagnose
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.hardware.suitability import MORE_REPLICAS
from controlplane.domain.spec import Spec
from controlplane.domain.spec.repository_forms import shown

_NO_BUILD = frozenset({BuildState.FAILED, BuildState.CANCELLED})


def refuse_build(model: ServedModel, build: Build) -> None:
    """Raise InvalidInput for a build that has nothing to deploy, or is another team's."""
    if build.team_id != model.team_id:
        raise InvalidInput(
            f"There is no build `{build.id}` in this team.", fields=["source.build_id"]
        )
    if build.state in _NO_BUILD:
        raise InvalidInput(
            f"Build {build.number} is {build.state} and left no artifact.",
            fields=["source.build_id"],
            hint="Retry the build, or name one that is running or has succeeded.",
        )
    if build.state == BuildState.SUCCEEDED and build.artifact_id is None:
        raise InvalidInput(
            f"The artifact of build {build.number} was deleted.",
            fields=["source.build_id"],
            hint="Build the revision again, and deploy that build.",
        )


def refuse_ungranted_code(artifact: Artifact | None) -> None:
    """Raise Conflict for an artifact that runs Python by a grant that holds no more."""
    if artifact is None or is_granted(artifact):
        return
    checkpoint = artifact.passport["checkpoint"]
    raise Conflict(
        f"The artifact runs Python code of `{shown(checkpoint['repo'])}` at commit "
        f"`{short_commit(checkpoint['commit'])}`, and its grant was revoked.",
        code="remote_code_not_granted",
        hint="An admin of the organisation can grant it again. What runs already goes on until it "
        "is deactivated.",
    )


def refuse_more_replicas_than_devices(*, spec: Mapping[str, Any], replicas: int) -> None:
    """Raise InvalidInput where all hosts together have too few GPUs for so many replicas."""
    known = Known(devices=host_offers(), replicas=max(1, replicas))
    context = Context(spec=Spec.model_validate(spec), known=known)
    for finding in diagnose(context, (MORE_REPLICAS,)).findings:
        raise InvalidInput(
            finding.message,
            code=finding.code,
            fields=["min_replica"],
            hint="Ask for fewer replicas, or enroll more hosts with such GPUs.",
        )
