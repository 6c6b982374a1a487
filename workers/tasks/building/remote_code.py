"""What a build may do with Python that its checkpoint brings, asked of the grants before each step.

A grant that was revoked while the build ran stops it at its next step, also where what the earlier
ones made is reused.
"""

from collections.abc import Mapping
from typing import Any

from apps.builds.models import Build
from apps.configs.remote_code.selectors import grants_shown
from controlplane.domain.remote_code import CodeGrants, refusal
from controlplane.domain.spec import Spec
from controlplane.domain.step_results import FetchResult
from workers.build_steps.remote_code import LEFT
from workers.tasks.building.stopped import StepFailed

Results = Mapping[str, Mapping[str, Any]]


def grants_of_build(build: Build) -> CodeGrants:
    return grants_shown(Spec.model_validate(build.revision.spec).checkpoint)


def runs_remote_code(results: Results) -> bool:
    """Return whether the steps from here on run the checkpoint's own code.

    Such a step is handed no secret: the code could read it.
    """
    remote_code = results.get("inspect", {}).get("remote_code") or {}
    return bool(remote_code.get("runs"))


def refuse_remote_code(build: Build, results: Results) -> None:
    """Raise StepFailed where the build runs code by a grant that holds no more."""
    if not runs_remote_code(results):
        return
    grants = grants_of_build(build)
    commit = FetchResult.model_validate(results["fetch"]).commit
    if grants.live_at(commit) is None:
        checkpoint = results["inspect"]["checkpoint"]
        raise StepFailed(refusal(commit, grants, checkpoint.get("architecture")))


def was_left_out(build: Build, step: str, result: Mapping[str, Any]) -> bool:
    """Return whether an earlier `fetch` left out code that is granted by now."""
    if step != "fetch":
        return False
    fetched = FetchResult.model_validate(result)
    if fetched.remote_code_state != LEFT:
        return False
    return grants_of_build(build).live_at(fetched.commit) is not None
