"""Why a checkpoint's own code is not run, from the grants of its repository."""

from collections.abc import Mapping, Sequence
from typing import Any

from controlplane.domain.facts.quantization import NO_QUANT
from controlplane.domain.failures import Blame, Failure

REPO_FIELD = "trt_llm.build.checkpoint_repository.repo"
NOT_GRANTED, MOVED = "EHQ-REMOTE-CODE", "EHQ-REMOTE-CODE-MOVED"
_HOW = "An admin of the organisation grants it for exactly this commit, on the page Remote code."
_SHOWN = 12


def refusal(commit: str, grants: Mapping[str, Any], architecture: str | None) -> Failure:
    """Return the failure of a build whose checkpoint nobody lets run its own code.

    `grants` are the repository's: `live` and `revoked`, each with `commit`, `by` and `at`.
    """
    named = f"`{architecture}`" if architecture else "The checkpoint"
    revoked = _of_commit(grants.get("revoked", ()), commit)
    if revoked is not None:
        return _failure(
            NOT_GRANTED,
            f"{named} is defined by Python code inside the checkpoint. Its grant at commit "
            f"`{short_commit(commit)}` was revoked by {revoked['revoked_by']} on "
            f"{str(revoked['revoked_at'])[:10]}: {revoked['revoke_reason']}",
            f"Use a checkpoint whose class Transformers has. {_HOW}",
        )
    if live := tuple(grants.get("live", ())):
        granted = ", ".join(f"`{short_commit(each['commit'])}`" for each in live[:3])
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
        fix={"trt_llm.build.quantization_type": NO_QUANT},
    )


def _of_commit(grants: Sequence[Mapping[str, Any]], commit: str) -> Mapping[str, Any] | None:
    return next((each for each in grants if each["commit"] == commit), None)


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
