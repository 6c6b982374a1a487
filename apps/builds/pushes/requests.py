from django.db import transaction

from apps.accounts.audit.recording import audit
from apps.accounts.models import Team, User
from apps.builds.artifacts.deleting import artifact_keep
from apps.builds.leasing import TRIED_AGAIN
from apps.builds.models import Artifact, ArtifactPush
from apps.builds.pushes.leasing import PUSH
from apps.leases.queue import work_send
from apps.leases.services import TAKEN_AWAY
from apps.rest.errors import Conflict, InvalidInput
from apps.secrets.selectors import secret_get
from controlplane import clock
from controlplane.domain.lifecycle import PUSH_TERMINAL, PushState
from controlplane.domain.push_destinations import FORMS, HubDestination, read_destination
from controlplane.domain.spec.checkpoint_repository import DEFAULT_SECRET_NAME
from controlplane.domain.spec.repository_forms import BucketFolder

_MAY_RETRY = (PushState.FAILED, PushState.CANCELLED)


def push_request(
    *,
    artifact: Artifact,
    destination: str,
    secret_name: str,
    private: bool = True,
    user: User | None = None,
) -> ArtifactPush:
    """Return a push that waits, or is under way, of the artifact to that destination.

    Raises:
        InvalidInput: the destination cannot be, or the team does not have the secret.
        NotFound: the artifact was deleted.
        Conflict: something else is being pushed there.
    """
    target = _checked_target(destination)
    secret = _checked_secret(artifact.team, secret_name.strip(), target)
    destination = str(target)
    with transaction.atomic():
        known = _open_push(artifact.team, destination)
        artifact_keep(artifact_id=artifact.id)
        if known is not None and _is_same(known, artifact, secret, private=private):
            return known
        _refuse_second(known)
        push = ArtifactPush.objects.create(
            team=artifact.team,
            artifact=artifact,
            destination=destination,
            secret_name=secret,
            private=private,
            pool=_pool_of(artifact),
            created_by=user,
        )
        audited = {"destination": destination, "secret": secret, "private": private}
        audit("artifact.push", artifact, team=artifact.team, after=audited)
        work_send(PUSH, push)
    return push


@transaction.atomic
def push_cancel(*, push: ArtifactPush) -> ArtifactPush:
    """Return the push as it is after the request: a queued one is cancelled at once.

    A running one is stopped by its worker, which looks every second. Raises Conflict where it has
    ended, and NotFound where its artifact was deleted.
    """
    artifact_keep(artifact_id=push.artifact_id)
    before, changed = push.state, _cancel(push)
    push.refresh_from_db()
    if changed:
        audit("artifact.push_cancel", push, team=push.team, before={"state": before})
    elif push.state in PUSH_TERMINAL - {PushState.CANCELLED}:
        raise Conflict(f"The push has {push.state} and cannot be cancelled.")
    return push


@transaction.atomic
def push_retry(*, push: ArtifactPush) -> ArtifactPush:
    """Return the push, queued again; what has arrived at its destination is not sent again.

    Raises Conflict where it has neither failed nor been cancelled, or where something else is
    being pushed there, and NotFound where its artifact was deleted.
    """
    known = _open_push(push.team, push.destination)
    artifact_keep(artifact_id=push.artifact_id)
    _refuse_second(known if known != push else None)
    retried = ArtifactPush.objects.filter(id=push.id, state__in=_MAY_RETRY).update(
        state=PushState.QUEUED, done_bytes=0, **TRIED_AGAIN
    )
    push.refresh_from_db()
    if not retried:
        raise Conflict(
            f"The push is {push.state}; only one that failed or was cancelled can be tried again."
        )
    audit("artifact.push_retry", push, team=push.team, after={"attempt": push.attempt})
    work_send(PUSH, push)
    return push


def _checked_target(destination: str) -> HubDestination | BucketFolder:
    target = read_destination(destination.strip())
    if target is None:
        raise InvalidInput(
            f"`{destination[:100]}` is no place to push to.",
            fields=["destination"],
            hint=f"Write {FORMS}.",
        )
    return target


def _checked_secret(team: Team, name: str, target: HubDestination | BucketFolder) -> str:
    """Return the name under which the secret is kept. Raises InvalidInput."""
    secret = secret_get(team=team, name=name)
    if secret is None:
        raise InvalidInput(
            f"The team has no secret `{name[:80]}`.",
            fields=["secret_name"],
            hint="Store a login with write access under Secrets, and name it here.",
        )
    if secret.name == DEFAULT_SECRET_NAME and not isinstance(target, HubDestination):
        raise InvalidInput(
            f"`{secret.name}` is sent to the hub only.",
            fields=["secret_name"],
            hint="Store the bucket's login under another name.",
        )
    return secret.name


def _open_push(team: Team, destination: str) -> ArtifactPush | None:
    """Return what is being pushed there; until the transaction ends, nobody begins another."""
    Team.objects.select_for_update(no_key=True).get(id=team.id)
    pushes = ArtifactPush.objects.filter(team=team, destination=destination)
    return pushes.exclude(state__in=PUSH_TERMINAL).first()


def _is_same(push: ArtifactPush, artifact: Artifact, secret: str, *, private: bool) -> bool:
    requested = (artifact.id, secret, private)
    return (push.artifact_id, push.secret_name, push.private) == requested


def _refuse_second(known: ArtifactPush | None) -> None:
    # The files of two at once would be mixed.
    if known is not None:
        raise Conflict(
            f"Artifact `{known.artifact_id}` is being pushed to `{known.destination}`.",
            hint="Wait until that has ended, or cancel it.",
        )


def _pool_of(artifact: Artifact) -> str:
    """Return the pool of the last build that ended with it: its workers reach the store."""
    pool = artifact.builds.order_by("-number").values_list("pool", flat=True).first()
    return pool or "default"


def _cancel(push: ArtifactPush) -> int:
    rows, now = ArtifactPush.objects.filter(id=push.id), clock.now()
    return rows.filter(state=PushState.QUEUED).update(
        state=PushState.CANCELLED, cancel_requested_at=now, finished_at=now, **TAKEN_AWAY
    ) or rows.filter(state=PushState.RUNNING, cancel_requested_at=None).update(
        cancel_requested_at=now
    )
