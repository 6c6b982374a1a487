"""Writes of the grants: a row is added, and later revoked, by compare-and-set."""

import re

from django.db import IntegrityError, transaction

from apps.accounts.audit.recording import audit
from apps.accounts.models import User
from apps.configs.remote_code.models import RemoteCodeGrant
from apps.rest.errors import Conflict, InvalidInput
from controlplane import clock
from controlplane.domain.spec.checkpoint_repository import is_hub_id
from controlplane.domain.spec.choices import CheckpointSource
from controlplane.domain.spec.repository_forms import is_well_formed, shown

_HUB_COMMIT = re.compile(r"[0-9a-f]{40}")
_LONGEST_REPO_BYTES = 2000
_SHOWN_LETTERS = 100
_COMMIT = re.compile(r"([a-z]+-)?[0-9a-f]{40,64}")


def remote_code_grant(
    *, source: str, repo: str, commit: str, reason: str, user: User | None
) -> RemoteCodeGrant:
    """Return the new grant. Raises InvalidInput, or Conflict where it is granted already."""
    values = {
        "source": CheckpointSource(source).value,
        "repo": _named(source, repo),
        "commit": _whole(source, commit.strip().lower()),
        "reason": _required_text(reason, "Say why this code may run."),
    }
    try:
        with transaction.atomic():
            grant = RemoteCodeGrant.objects.create(
                **values, created_by=user, granted_by=_name(user)
            )
            audit("remote_code.grant", grant, team=None, after=values)
    except IntegrityError:
        raise Conflict(
            f"`{values['repo']}` is granted at commit `{values['commit']}` already.",
            code="already_granted",
            fields=["commit"],
        ) from None
    return grant


@transaction.atomic
def remote_code_revoke(
    *, grant: RemoteCodeGrant, reason: str, user: User | None
) -> RemoteCodeGrant:
    """Return the grant, which holds no more: nothing new runs by it.

    Raises InvalidInput, or Conflict where someone revoked it before.
    """
    explanation = _required_text(reason, "Say why this code may run no more.")
    unrevoked = RemoteCodeGrant.objects.filter(id=grant.id, revoked_at=None)
    if not unrevoked.update(
        revoked_at=clock.now(), revoked_by=_name(user), revoke_reason=explanation
    ):
        raise Conflict(f"The grant `{grant.id}` is revoked already.", code="already_revoked")
    grant.refresh_from_db()
    audit(
        "remote_code.revoke",
        grant,
        team=None,
        before={"reason": grant.reason, "granted_by": grant.granted_by},
        after={"reason": explanation},
    )
    return grant


def _named(source: str, repo: str) -> str:
    """Return the repository as grants keep it. Raises InvalidInput for what no config could name.

    Such a grant would lift nothing, which is noticed far from here.
    """
    name = repo.strip()
    named = shown(name)
    if not named or len(named.encode()) > _LONGEST_REPO_BYTES:
        raise InvalidInput("Name the repository as the config does.", fields=["repo"])
    if not _is_name(CheckpointSource(source), name):
        raise InvalidInput(
            f"`{named[:_SHOWN_LETTERS]}` is no repository of the source `{source}`.",
            fields=["repo"],
            hint="Name it as the config does, such as `owner/name` for the hub.",
        )
    return named


def _is_name(source: CheckpointSource, repo: str) -> bool:
    if source is CheckpointSource.HF:
        return is_hub_id(repo)
    return repo.isprintable() and is_well_formed(source, repo)


def _whole(source: str, commit: str) -> str:
    """Return the commit. Raises InvalidInput for a branch, a tag or a part of one."""
    is_hub = source == CheckpointSource.HF
    if not (_HUB_COMMIT if is_hub else _COMMIT).fullmatch(commit):
        example = "40 hex digits" if is_hub else "as a build's passport or its failure names it"
        raise InvalidInput(
            f"`{commit}` is no whole commit: {example}.",
            fields=["commit"],
            hint="A branch or a tag can move, and a grant is for one state of the code.",
        )
    return commit


def _required_text(reason: str, sentence: str) -> str:
    if not reason.strip():
        raise InvalidInput(sentence, fields=["reason"])
    return reason.strip()


def _name(user: User | None) -> str:
    return user.email if user else "a key of the organisation"
