"""Applies the fix of a failed build and builds that: once, however often it is asked for."""

from dataclasses import dataclass
from typing import Any

from django.db import transaction

from apps.accounts.audit.recording import audit
from apps.accounts.models import User
from apps.builds.failures.fixes import Proposal, fix_made, fix_proposal
from apps.builds.models import Build
from apps.builds.services.requests import build_create
from apps.configs.models import Revision
from apps.configs.services.configs import revision_create
from apps.rest.errors import Conflict, InvalidInput, NotFound


@dataclass(frozen=True, kw_only=True)
class FixApplied:
    build: Build
    is_new: bool


def build_apply_fix(*, build: Build, user: User | None) -> FixApplied:
    """Return the build of the newest revision with the fix of the failed build in it.

    1. A build that was made of this failure before is the answer to every later request.
    2. The fix is applied to the newest text, whoever saved it since, as a new revision.
    3. The new build names the failed one and what it failed with.

    Raises:
        NotFound: the failure has no fix.
        InvalidInput: the newest text with the fix in it is no valid config; nothing is saved.
        Conflict: the checks block the new revision, which is kept, or wait for facts.
    """
    if (made := fix_made(build)) is not None:
        return FixApplied(build=made, is_new=False)
    proposal, revision = _saved(build, user)
    with transaction.atomic():
        Build.objects.select_for_update(no_key=True).get(id=build.id)
        if (made := fix_made(build)) is not None:
            return FixApplied(build=made, is_new=False)
        started = build_create(revision=revision, user=user)
        started.after, started.fixed = build, _fixed(build, proposal)
        started.save(update_fields=["after", "fixed"])
        audited = {"failed": build.number, "patch": dict(proposal.patch)}
        audit("build.apply_fix", started, team=started.team, after=audited)
    return FixApplied(build=started, is_new=True)


def _saved(build: Build, user: User | None) -> tuple[Proposal, Revision]:
    """Return the fix and the revision that has it; someone else may save in between, once."""
    try:
        return _save(build, user)
    except Conflict as error:
        if error.code != "stale_revision":
            raise
        return _save(build, user)


def _save(build: Build, user: User | None) -> tuple[Proposal, Revision]:
    proposal = fix_proposal(build)
    if proposal is None:
        raise NotFound(f"The failure of build {build.number} has no fix.")
    if proposal.problem is not None:
        raise InvalidInput(
            f"The fix of build {build.number} no longer fits revision {proposal.base.number} of "
            f"the config: {proposal.problem}",
            code="fix_does_not_fit",
            fields=list(proposal.patch),
            hint="Change the config by hand, then build it.",
        )
    revision = revision_create(
        config=build.revision.config,
        text=proposal.text,
        user=user,
        expected_revision=proposal.base.number,
    )
    return proposal, revision


def _fixed(build: Build, proposal: Proposal) -> dict[str, Any]:
    failure = build.failure or {}
    return {
        "code": failure.get("code"),
        "sentence": failure.get("sentence"),
        "patch": dict(proposal.patch),
        "base_revision": proposal.base.number,
    }
