"""Why a checkpoint's own code is not run, from the grants of its repository."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict

from controlplane.domain.failures import Blame, Failure

REPO_FIELD = "trt_llm.build.checkpoint_repository.repo"
NOT_GRANTED, MOVED = "EHQ-REMOTE-CODE", "EHQ-REMOTE-CODE-MOVED"
_HOW = "An admin of the organisation grants it for exactly this commit, on the page Remote code."
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
        """Return the grant that holds for the commit."""
        return next((each for each in self.live if each.commit == commit), None)


def refusal(commit: str, grants: CodeGrants, architecture: str | None) -> Failure:
    """Return the failure of a build whose checkpoint nobody lets run its own code."""
    named = f"`{architecture}`" if architecture else "The checkpoint"
    revoked = next((each for each in grants.revoked if each.commit == commit), None)
    if revoked is not None:
        return _failure(
            NOT_GRANTED,
            f"{named} is defined by Python code inside the checkpoint. Its grant at commit "
            f"`{short_commit(commit)}` was revoked by {revoked.revoked_by} on "
            f"{revoked.revoked_at[:10]}: {revoked.revoke_reason}",
            f"Use a checkpoint whose class Transformers has. {_HOW}",
        )
    if grants.live:
        granted = ", ".join(f"`{short_commit(each.commit)}`" for each in grants.live[:3])
        return _failure(
            MOVED,
            f"{named} is defined by Python code inside the checkpoint, which is granted at "
            f"{granted}; this build fetched commit `{short_commit(commit)}` and runs none of it.",
            f"Pin `revision` to the granted commit, or have `{commit}` granted. {_HOW}",
            field="trt_llm.build.checkpoint_repository.revision",
        )
    return _failure(
        NOT_GRANTED,
        f"{named} is defined by Python code inside the checkpoint, and nobody has granted it at "
        f"commit `{short_commit(commit)}`: a build runs no code without that.",
        f"Use a checkpoint whose class Transformers has, or serve this one unquantized. {_HOW}",
        fix={"trt_llm.build.quantization_type": "no_quant"},
    )


def short_commit(commit: str) -> str:
    """Return enough of a commit to tell it by eye; what says how it was taken stays."""
    kind, dash, digits = commit.rpartition("-")
    return f"{kind}{dash}{digits[:_SHOWN]}"


def _failure(
    code: str,
    sentence: str,
    hint: str,
    *,
    field: str = REPO_FIELD,
    fix: Mapping[str, Any] | None = None,
) -> Failure:
    return Failure(
        code=code, blame=Blame.CHECKPOINT, sentence=sentence, field=field, hint=hint, fix=fix
    )
