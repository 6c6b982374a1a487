"""A build runs from the queue to its artifact, once."""

from pathlib import Path

import pytest

from apps.builds.models import Build
from apps.telemetry.logs import log_lines
from controlplane.artifacts import ArtifactStore
from tests.workers.tasks.building import MakeBuild, steps
from workers.tasks.build import build_run

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.engine]


def run(build: Build) -> Build:
    build_run(build_id=build.id, format=1)
    build.refresh_from_db()
    return build


def test_a_build_ends_with_an_artifact_and_leaves_no_folder(
    make_build: MakeBuild, data_dir: Path
) -> None:
    build = run(make_build())
    assert (build.state, build.failure) == ("succeeded", None)
    assert set(steps(build).values()) == {"finished"}
    artifact = build.artifact
    assert artifact is not None
    store = ArtifactStore.open((data_dir / "artifacts").as_uri())
    assert store.verify(artifact.content_digest).size_bytes == artifact.size_bytes
    assert artifact.passport["built"]["build_id"] == build.id
    assert build.steps.get(name="smoke_test").result["answer"]
    assert not (data_dir / "builds" / build.id).exists()
    said = [line.message for line in log_lines(owners=[f"build:{build.id}:package"])]
    assert any(artifact.content_digest in line for line in said)
    assert (build.lease_owner, build.lease_secret_sha256, build.lease_expires_at) == ("", "", None)
