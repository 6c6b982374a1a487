"""Why a checkpoint's own code is not run, from the grants of its repository."""

from typing import Any

from pydantic import BaseModel, ConfigDict

from controlplane.domain.failures import Failure
from controlplane.domain.failures.registry import remote_code as kinds

NEED_A_GRANT = frozenset({kinds.NOT_GRANTED.code, kinds.MOVED.code})
"""Codes of failures that an admin's grant mends."""
_SHOWN = 12


class LiveGrant(BaseModel):
    """That a repository may run its own Python at one commit: who let it, when and why."""

    model_config = ConfigDict(frozen=True)

    commit: str
    by: str
    at: str
    id: str = ""
    reason: str = ""


class RevokedGrant(BaseModel):
    """That it may no more."""

    model_config = ConfigDict(frozen=True)

    commit: str
    revoked_by: str
    revoked_at: str
    revoke_reason: str


class CodeGrants(BaseModel):
    """What a build is told of its repository's grants."""

    model_config = ConfigDict(frozen=True)

    live: tuple[LiveGrant, ...] = ()
    revoked: tuple[RevokedGrant, ...] = ()

    def live_at(self, commit: str) -> LiveGrant | None:
        return next((each for each in self.live if each.commit == commit), None)


def refusal(commit: str, grants: CodeGrants, architecture: str | None) -> Failure:
    """Return the failure of a build whose checkpoint nobody lets run its own code."""
    values: dict[str, Any] = {
        "architecture": f"`{architecture}`" if architecture else "The checkpoint",
        "commit": commit,
        "short_commit": short_commit(commit),
    }
    revoked = next((each for each in grants.revoked if each.commit == commit), None)
    if revoked is not None:
        return kinds.REVOKED.failure(
            revoked_by=revoked.revoked_by,
            day=revoked.revoked_at[:10],
            reason=revoked.revoke_reason,
            **values,
        )
    if grants.live:
        granted = ", ".join(f"`{short_commit(each.commit)}`" for each in grants.live[:3])
        return kinds.MOVED.failure(granted=granted, **values)
    return kinds.NOT_GRANTED.failure(**values)


def short_commit(commit: str) -> str:
    """Return enough of a commit to tell it by eye; what says how it was taken stays."""
    kind, dash, digits = commit.rpartition("-")
    return f"{kind}{dash}{digits[:_SHOWN]}"
