"""What need not be done again: published outputs that verify, artifacts of the same inputs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from apps.builds.artifacts.services import artifact_of_inputs, package_of_artifact
from apps.builds.models import Build
from controlplane.artifacts import ArtifactFailure, ArtifactStore, input_digest
from controlplane.domain.step_results import FetchResult
from workers.build_steps import outputs
from workers.build_steps.inputs import build_inputs
from workers.build_steps.model_files import was_measured
from workers.tasks.building.folders import BuildFolder
from workers.tasks.leasing import LeaseKeeper, retry_on_db_error


@dataclass(frozen=True, kw_only=True)
class Known:
    """What was published of a build's inputs: the result of its package step, or a broken one."""

    inputs: Mapping[str, Any]
    package: Mapping[str, Any] | None = None
    lost_content_digest: str | None = None


def published_result(
    keeper: LeaseKeeper, folder: BuildFolder, step: str
) -> Mapping[str, Any] | None:
    path = folder.published(step)
    if not path.exists() or not outputs.verify(path, keeper.check):
        return None
    if step == "gate" and not was_measured(folder.published("calibrate"), path):
        return None  # the model was made anew since
    values = outputs.read(path).values
    if step == "package" and not _is_stored(keeper, values["content_digest"]):
        return None
    return values


def known_artifact(keeper: LeaseKeeper, build: Build, fetched: FetchResult) -> Known:
    """Return what the team has of the same inputs; `fetched` is what that step brought."""
    inputs = build_inputs(build.spec, fetched)
    digest = input_digest(inputs)
    artifact = retry_on_db_error(
        keeper, lambda: artifact_of_inputs(team_id=build.team_id, input_digest=digest)
    )
    if artifact is None:
        return Known(inputs=inputs)
    if not _is_stored(keeper, artifact.content_digest):
        return Known(inputs=inputs, lost_content_digest=artifact.content_digest)
    return Known(inputs=inputs, package=package_of_artifact(artifact))


def known_results(package: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return what the steps after `inspect` found when the artifact was made, by its passport."""
    passport = package["passport"]
    calibration = {
        **(passport.get("quantization") or {}),
        "calibration": passport.get("calibration"),
    }
    gate = passport.get("gate")
    return {
        "calibrate": calibration,
        "gate": gate if isinstance(gate, dict) else {"state": "unmeasured"},
        "package": package,
        "smoke_test": {},
    }


def _is_stored(keeper: LeaseKeeper, content_digest: str) -> bool:
    """Return whether every byte is there. Raises ArtifactFailure where the store does not say."""
    try:
        store = ArtifactStore.open(settings.ARTIFACT_URL)
        store.verify(content_digest, lambda _count: keeper.check())
    except ArtifactFailure as failed:
        if not failed.is_loss:
            raise  # a store that is away would have every build made anew
        return False
    return True
