"""Deletion of artifacts: refused while anything serves or is about to take one."""

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from apps.accounts.audit.recording import audit
from apps.builds.models import Artifact, Build
from apps.rest.errors import Conflict, NotFound, Unavailable
from apps.rest.streaming import free_connection
from controlplane.artifacts import PAGES, ArtifactFailure, ArtifactStore
from controlplane.domain.lifecycle import BUILD_TERMINAL, PUSH_TERMINAL


def artifact_delete(*, artifact: Artifact) -> None:
    """Delete an artifact; its builds stay, and its files go with a sweep a day later.

    Raises:
        NotFound: someone was first.
        Conflict: a deployment has it, a build under way reuses it, or it is being pushed.
        Unavailable: the store cannot be asked to spare the files for that day.
    """
    _spare(artifact.content_digest)
    _delete(artifact)


def _spare(content_digest: str) -> None:
    # Before the row goes and outside its transaction: a store may take seconds to answer.
    free_connection()
    try:
        ArtifactStore.open(settings.ARTIFACT_URL, patience=PAGES).spare(content_digest)
    except ArtifactFailure as failed:
        raise Unavailable(failed.failure.sentence, hint=failed.failure.hint) from failed


def artifact_keep(*, artifact_id: str) -> None:
    """Keep it from being deleted until the transaction ends. Raises NotFound."""
    _locked_artifact(artifact_id, Artifact.objects.select_for_update(no_key=True))


@transaction.atomic
def _delete(artifact: Artifact) -> None:
    # Before the artifact, as whoever ends a build with it does.
    builds = Build.objects.filter(artifact=artifact).order_by("id")
    list(builds.select_for_update(no_key=True).values_list("id"))
    row = _locked_artifact(artifact.id, Artifact.objects.select_for_update())
    _refuse_while_used(row)
    Build.objects.filter(artifact=row).update(artifact=None)
    audit("artifact.delete", row, team=row.team, before={"content_digest": row.content_digest})
    row.delete()


def _locked_artifact(artifact_id: str, rows: QuerySet[Artifact]) -> Artifact:
    row = rows.filter(id=artifact_id).first()
    if row is None:
        raise NotFound(f"Artifact `{artifact_id}` was deleted meanwhile.")
    return row


def _refuse_while_used(artifact: Artifact) -> None:
    if deployment := artifact.deployments.select_related("model").first():
        raise Conflict(
            f"Deployment `{deployment.name}` of `{deployment.model.name}` has artifact "
            f"`{artifact.id}`.",
            hint="Delete the deployment first.",
        )
    if build := Build.objects.filter(artifact=artifact, deployments__state="building").first():
        raise Conflict(
            f"A deployment is about to take artifact `{artifact.id}` of build {build.number}.",
            hint="Delete the deployment first.",
        )
    if push := artifact.pushes.exclude(state__in=PUSH_TERMINAL).first():
        raise Conflict(
            f"Artifact `{artifact.id}` is being pushed to `{push.destination}`.",
            hint="Wait until that has ended, or cancel it.",
        )
    taking = Build.objects.filter(reuse__artifact_id=artifact.id, reuse__state="same")
    if build := taking.exclude(state__in=BUILD_TERMINAL).first():
        raise Conflict(
            f"Build {build.number} is taking artifact `{artifact.id}`.",
            hint="Wait until it has ended, or cancel it.",
        )
