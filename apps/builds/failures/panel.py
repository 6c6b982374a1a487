"""Why a build failed, as its page shows it: cause, blame, the fix and what it would change."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apps.builds.failures.fixes import Proposal, fix_made, fix_proposal
from apps.builds.models import Build
from controlplane.domain.failures import Blame
from controlplane.domain.failures.registry.build import CRASHED
from controlplane.domain.remote_code import NEED_A_GRANT

_BLAME_WORDS = {
    Blame.CONFIGURATION: "The config has to change",
    Blame.CHECKPOINT: "The checkpoint has to change",
    Blame.MACHINE: "The machine was not up to it",
    Blame.OURS: "A fault of Enginehouse",
}


@dataclass(frozen=True, kw_only=True)
class FailurePanel:
    failure: Mapping[str, Any]
    proposal: Proposal | None
    made: Build | None
    """The build that was made with the fix."""

    @property
    def blame_words(self) -> str:
        """Who has to act."""
        return _BLAME_WORDS[Blame(self.failure["blame"])]

    @property
    def is_unknown(self) -> bool:
        return bool(self.failure["code"] == CRASHED.code)

    @property
    def wants_grant(self) -> bool:
        return self.failure["code"] in NEED_A_GRANT

    @property
    def may_apply(self) -> bool:
        """Whether the fix can be pressed: it fits, and nothing was made of it yet."""
        return self.proposal is not None and not self.proposal.problem and self.made is None


def failure_panel(build: Build) -> FailurePanel | None:
    if not build.failure:
        return None
    proposal = fix_proposal(build)
    return FailurePanel(
        failure=build.failure,
        proposal=proposal,
        made=fix_made(build) if proposal else None,
    )
