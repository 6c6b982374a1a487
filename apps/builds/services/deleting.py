"""Deletion of artifacts: refused while anything serves or is about to take one."""

from django.conf import settings
from django.db import transaction

from apps.accounts.audit import audit
from apps.builds.models import Artifact, Build
from apps.rest.errors import Conflict
from controlplane.artifacts import ArtifactStore
from controlplane.domain.lifecycle import BUILD_TERMINAL


@transaction.atomic
def artifact_delete(*, artifact: Artifact) -> None:
    """Delete an artifact; its builds stay, and its files go with a sweep a day later.

    Raises Conflict while a deployment has it or a build under way reuses it.
    """
    row = Artifact.objects.select_for_update().get(id=artifact.id)
    _refuse_while_used(row)
    Build.objects.filter(artifact=row).update(artifact=None)
    audit("artifact.delete", row, team=row.team, before={"content_digest": row.content_digest})
    row.delete()
    store = ArtifactStore.open(settings.ARTIFACT_URL)
    transaction.on_commit(lambda: store.spare(row.content_digest))


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
    taking = Build.objects.filter(reuse__artifact_id=artifact.id, reuse__state="same")
    if build := taking.exclude(state__in=BUILD_TERMINAL).first():
        raise Conflict(
            f"Build {build.number} is taking artifact `{artifact.id}`.",
            hint="Wait until it has ended, or cancel it.",
        )
