"""Reads of pushes, always of one artifact of one team."""

from django.db.models import QuerySet

from apps.builds.models import Artifact, ArtifactPush
from apps.rest.errors import NotFound


def push_list(*, artifact: Artifact) -> QuerySet[ArtifactPush]:
    pushes = ArtifactPush.objects.filter(artifact=artifact)
    return (
        pushes.select_related("created_by", "artifact", "team")
        .defer("artifact__passport", "artifact__files", "artifact__inputs")
        .order_by("-created_at", "-id")
    )


def push_get(*, artifact: Artifact, push_id: str) -> ArtifactPush:
    push = push_list(artifact=artifact).filter(id=push_id).first()
    if push is None:
        raise NotFound(f"There is no push `{push_id}` of artifact `{artifact.id}`.")
    return push
