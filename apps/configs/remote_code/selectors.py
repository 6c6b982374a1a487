from django.db.models import QuerySet

from apps.configs.remote_code.models import RemoteCodeGrant
from apps.rest.errors import NotFound
from controlplane.domain.remote_code import CodeGrants, LiveGrant, RevokedGrant
from controlplane.domain.rules.context import CodeGrant
from controlplane.domain.spec import CheckpointRepository
from controlplane.domain.spec.repository_forms import shown

_MOST_LISTED = 50


def grant_list() -> QuerySet[RemoteCodeGrant]:
    return RemoteCodeGrant.objects.all()


def grant_get(*, grant_id: str) -> RemoteCodeGrant:
    grant = RemoteCodeGrant.objects.filter(id=grant_id).first()
    if grant is None:
        raise NotFound(f"There is no grant `{grant_id}`.")
    return grant


def grants_of(checkpoint: CheckpointRepository | None) -> QuerySet[RemoteCodeGrant]:
    if checkpoint is None:
        return RemoteCodeGrant.objects.none()
    return RemoteCodeGrant.objects.filter(
        source=checkpoint.source, repo=shown(checkpoint.repo)
    ).order_by("-created_at", "-id")


def code_grants(checkpoint: CheckpointRepository | None) -> tuple[CodeGrant, ...]:
    return tuple(
        CodeGrant(commit=each.commit, by=each.granted_by, on=each.created_at.date())
        for each in grants_of(checkpoint).filter(revoked_at=None)[:_MOST_LISTED]
    )


def grants_shown(checkpoint: CheckpointRepository | None) -> CodeGrants:
    """Return what a build is told of its repository's grants: those that hold, and those revoked.

    A commit that was granted again after a revocation is live, whatever came before.
    """
    grants = list(grants_of(checkpoint)[:_MOST_LISTED])
    return CodeGrants(
        live=tuple(_live(each) for each in grants if each.revoked_at is None),
        revoked=tuple(_revoked(each) for each in grants if each.revoked_at is not None),
    )


def commit_is_granted(*, source: str, repo: str, commit: str) -> bool:
    live = RemoteCodeGrant.objects.filter(revoked_at=None, commit=commit)
    return live.filter(source=source, repo=shown(repo)).exists()


def _live(grant: RemoteCodeGrant) -> LiveGrant:
    return LiveGrant(
        id=grant.id,
        commit=grant.commit,
        by=grant.granted_by,
        at=grant.created_at.isoformat(timespec="seconds"),
        reason=grant.reason,
    )


def _revoked(grant: RemoteCodeGrant) -> RevokedGrant:
    assert grant.revoked_at is not None
    return RevokedGrant(
        commit=grant.commit,
        revoked_by=grant.revoked_by,
        revoked_at=grant.revoked_at.isoformat(timespec="seconds"),
        revoke_reason=grant.revoke_reason,
    )
