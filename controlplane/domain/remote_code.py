"""Why a checkpoint's own code is not run, from the grants of its repository."""

from collections.abc import Mapping, Sequence
from typing import Any

from controlplane.domain.failures import Failure
from controlplane.domain.failures.registry import remote_code as kinds

NEED_A_GRANT = frozenset({kinds.NOT_GRANTED.code, kinds.MOVED.code})
"""Codes of failures that an admin's grant mends."""
_SHOWN = 12


def refusal(commit: str, grants: Mapping[str, Any], architecture: str | None) -> Failure:
    """Return the failure of a build whose checkpoint nobody lets run its own code.

    `grants` are the repository's: `live` and `revoked`, each with `commit`, `by` and `at`.
    """
    values: dict[str, Any] = {
        "architecture": f"`{architecture}`" if architecture else "The checkpoint",
        "commit": commit,
        "short_commit": short_commit(commit),
    }
    if revoked := _of_commit(grants.get("revoked", ()), commit):
        return kinds.REVOKED.failure(
            revoked_by=revoked["revoked_by"],
            day=str(revoked["revoked_at"])[:10],
            reason=revoked["revoke_reason"],
            **values,
        )
    if live := tuple(grants.get("live", ())):
        granted = ", ".join(f"`{short_commit(each['commit'])}`" for each in live[:3])
        return kinds.MOVED.failure(granted=granted, **values)
    return kinds.NOT_GRANTED.failure(**values)


def _of_commit(grants: Sequence[Mapping[str, Any]], commit: str) -> Mapping[str, Any] | None:
    return next((each for each in grants if each["commit"] == commit), None)


def short_commit(commit: str) -> str:
    """Return enough of a commit to tell it by eye; what says how it was taken stays."""
    kind, dash, digits = commit.rpartition("-")
    return f"{kind}{dash}{digits[:_SHOWN]}"
