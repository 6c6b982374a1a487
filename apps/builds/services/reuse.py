"""Whether a build's inputs were built before, and which of them differ from the nearest that were.

A worker tells once it knows them all: after `inspect`, before anything is calibrated.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from django.db.models import Q, QuerySet

from apps.builds.models import Artifact, Build
from apps.builds.services.claims import held_build
from apps.leases.lease import Lease
from controlplane.artifacts import input_digest
from controlplane.domain.reuse import Difference, differences
from controlplane.domain.storable import storable

_MOST_LOOKED_AT = 50
_REPO = "inputs__spec__trt_llm__build__checkpoint_repository__repo"


class ReuseState(StrEnum):
    """What is known of a build's inputs."""

    SAME = "same"
    """An artifact of exactly these exists."""
    LOST = "lost"
    """It exists, and its stored files do not."""
    DIFFERS = "differs"
    INCOMPARABLE = "incomparable"
    """There are earlier artifacts, made before their inputs were kept."""
    FIRST = "first"


def build_explain_reuse(*, lease: Lease, inputs: Mapping[str, Any], is_lost: bool) -> None:
    """Store the build's inputs and, where no artifact has the same, how the nearest one differs.

    `is_lost`: there is one, and the store does not have its files whole.
    """
    with held_build(lease) as build:
        reuse = reuse_of(build, inputs)
        if is_lost:
            reuse["state"] = ReuseState.LOST.value
        stored = storable({**reuse, "inputs": inputs})
        Build.objects.filter(id=build.id).update(reuse=stored)


def reuse_of(build: Build, inputs: Mapping[str, Any]) -> dict[str, Any]:
    same = Artifact.objects.filter(team_id=build.team_id, input_digest=input_digest(inputs)).first()
    if same is not None:
        return _reuse_json(ReuseState.SAME, same)
    earlier = list(_related(build, inputs)[:_MOST_LOOKED_AT])
    compared = [(each, differences(each.inputs, inputs)) for each in earlier if each.inputs]
    if compared:
        # The newest of those with the fewest: `min` keeps the first.
        nearest, of_nearest = min(compared, key=lambda pair: len(pair[1]))
        return _reuse_json(ReuseState.DIFFERS, nearest, of_nearest)
    if earlier:
        return _reuse_json(ReuseState.INCOMPARABLE, earlier[0])
    return _reuse_json(ReuseState.FIRST)


def _related(build: Build, inputs: Mapping[str, Any]) -> QuerySet[Artifact]:
    repository = inputs["spec"]["trt_llm"]["build"]["checkpoint_repository"]
    of_config = Build.objects.filter(
        team_id=build.team_id, revision__config=build.revision.config_id
    ).values("artifact_id")
    return (
        Artifact.objects.filter(team_id=build.team_id)
        .filter(Q(id__in=of_config) | Q(**{_REPO: repository["repo"]}))
        .defer("files", "passport")
        .order_by("-created_at")
    )


def _reuse_json(
    state: ReuseState, artifact: Artifact | None = None, differences: tuple[Difference, ...] = ()
) -> dict[str, Any]:
    return {
        "state": state.value,
        "artifact_id": artifact.id if artifact else None,
        "differences": [each.to_json() for each in differences],
    }
