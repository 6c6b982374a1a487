"""A build that makes nothing: another revision served from the artifact of an earlier one."""

from collections.abc import Callable

from django.db import transaction

from apps.accounts.audit.recording import audit
from apps.accounts.models import User
from apps.builds.models import Build, BuildStep
from apps.builds.services.requests import next_number, ready_runtime
from apps.configs.models import Revision
from apps.rest.errors import Conflict
from controlplane import clock
from controlplane.domain.lifecycle import BuildState, StepState
from controlplane.domain.spec.serving_change import deciding


def build_take_artifact(
    *,
    revision: Revision,
    earlier: Build,
    user: User | None,
    deploy: Callable[[Build], object] | None = None,
) -> Build:
    """Return a build that has succeeded, with the artifact of `earlier`, every step reused.

    `deploy` makes whatever takes the build, in the same transaction.

    Raises:
        Conflict: the checks block the revision, or it asks for another artifact.
    """
    runtime = ready_runtime(revision)
    if why := reasons_to_build(revision, runtime=runtime, earlier=earlier):
        raise Conflict(
            f"The artifact of build {earlier.number} was made otherwise: {', '.join(why)}.",
            code="needs_build",
            fields=why,
            hint="Build the revision.",
        )
    with transaction.atomic():
        build = _store(revision, runtime, earlier, user)
        _copy_steps(earlier, build)
        after = {
            "config": revision.config.name, "revision": revision.number,
            "artifact_of_build": earlier.number,
        }  # fmt: skip
        audit("build.create", build, team=build.team, after=after)
        if deploy is not None:
            deploy(build)
    return build


def reasons_to_build(revision: Revision, *, runtime: str, earlier: Build) -> list[str]:
    """Return the settings by which the artifact of `earlier` is not the revision's, or none."""
    if earlier.state != BuildState.SUCCEEDED or earlier.artifact_id is None:
        return ["the artifact"]
    names = [each.path for each in deciding(earlier.revision.spec, revision.spec)]
    return names if runtime == earlier.runtime or names else ["enginehouse.runtime"]


def _store(revision: Revision, runtime: str, earlier: Build, user: User | None) -> Build:
    now = clock.now()
    return Build.objects.create(
        number=next_number(revision.config.team),
        team=revision.config.team,
        revision=revision,
        pool=earlier.pool,
        runtime=runtime,
        state=BuildState.SUCCEEDED,
        artifact=earlier.artifact,
        created_by=user,
        started_at=now,
        finished_at=now,
    )


def _copy_steps(earlier: Build, build: Build) -> None:
    now = clock.now()
    BuildStep.objects.bulk_create(
        BuildStep(
            build=build, name=each.name, position=each.position, state=StepState.REUSED,
            result=each.result, started_at=now, finished_at=now,
        )
        for each in earlier.steps.all()
    )  # fmt: skip
