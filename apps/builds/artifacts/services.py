"""What builds leave: one artifact per team and input, the first publish wins."""

from collections.abc import Mapping
from typing import Any

from apps.accounts.models import Team
from apps.builds.leasing import device_holder
from apps.builds.models import Artifact
from apps.builds.services.claims import held_build
from apps.builds.services.progress import build_move
from apps.fleet.services.devices import devices_release
from apps.leases.lease import Lease
from apps.leases.services import UNHELD
from controlplane import clock
from controlplane.domain.lifecycle import BuildState
from controlplane.domain.storable import storable


def build_succeed(
    *, lease: Lease, package: Mapping[str, Any], lost_content_digest: str | None = None
) -> Artifact:
    """End the build and return its artifact: the first one that was published of these inputs.

    `package` is the result of the package step. An artifact whose stored files were found broken
    under `lost_content_digest` is pointed at the new ones.
    """
    with held_build(lease) as build:
        artifact = _first_published(build.team, package, lost_content_digest)
        devices_release(holder=device_holder(build.id))
        build_move(
            build,
            BuildState.SUCCEEDED,
            artifact=artifact,
            finished_at=clock.now(),
            **UNHELD,
        )
    return artifact


def artifact_of_inputs(*, team_id: str, input_digest: str) -> Artifact | None:
    return Artifact.objects.filter(team_id=team_id, input_digest=input_digest).first()


def package_of_artifact(artifact: Artifact) -> dict[str, Any]:
    """Return the result that the package step would report of a published artifact."""
    return {
        "content_digest": artifact.content_digest,
        "input_digest": artifact.input_digest,
        "size_bytes": artifact.size_bytes,
        "manifest": artifact.files,
        "passport": artifact.passport,
        "inputs": artifact.inputs,
    }


def _first_published(team: Team, package: Mapping[str, Any], lost: str | None) -> Artifact:
    columns = {
        "content_digest": package["content_digest"],
        "size_bytes": package["size_bytes"],
        "files": storable(package["manifest"]),
        "passport": storable(package["passport"]),
        # A package step that an earlier release finished does not name them.
        "inputs": storable(package.get("inputs")),
    }
    # Locked, or it could be deleted before the build that ends with it is committed.
    artifact, created = Artifact.objects.select_for_update(no_key=True).get_or_create(
        team=team, input_digest=package["input_digest"], defaults=columns
    )
    if not created and artifact.content_digest == lost:
        Artifact.objects.filter(id=artifact.id, content_digest=lost).update(**columns)
    return artifact
