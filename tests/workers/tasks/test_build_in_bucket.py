"""A build whose artifact lies in a bucket: published, verified, taken out, and never made twice."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django import Settings

from apps.builds.models import Build
from apps.builds.services.requests import build_retry
from apps.telemetry.logs import log_lines
from controlplane.artifacts import ArtifactStore, store_variables
from controlplane.clock import SYSTEM
from tests.artifacts.places import BUCKET, BucketPlace
from tests.bucket_server import BucketServer
from tests.workers.tasks.building import MakeBuild, steps
from workers.tasks.build import build_run

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.engine,
    pytest.mark.long,  # tests/artifacts/bucket, artifacts/test_artifacts_in_bucket.py
]


@pytest.fixture
def bucket(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[BucketPlace]:
    with BucketServer("S3", clock=SYSTEM) as server:
        place = BucketPlace(server)
        settings.ARTIFACT_URL = place.url
        for name, value in place.variables.items():
            monkeypatch.setenv(name, value)
        yield place


def run(build: Build) -> Build:
    build_run(build_id=build.id, format=1)
    build.refresh_from_db()
    return build


def test_a_build_is_published_to_the_bucket_and_a_store_that_refuses_is_no_loss(
    make_build: MakeBuild, bucket: BucketPlace, data_dir: Path
) -> None:
    beside = data_dir / "artifacts"  # of every test of this process
    before = {*beside.rglob("*")}
    bucket.server.is_read_only = True
    build = run(make_build())
    assert (build.state, build.failure["code"]) == ("failed", "EHA-DENIED")
    assert bucket.url in build.failure["sentence"]
    assert not bucket.server.buckets[BUCKET]
    bucket.server.is_read_only = False
    run(build_retry(build=build))
    assert (build.state, build.failure) == ("succeeded", None)
    assert (steps(build)["fetch"], steps(build)["smoke_test"]) == ("reused", "finished")
    artifact = build.artifact
    assert artifact is not None
    store = ArtifactStore.open(bucket.url, variables=store_variables())
    assert store.verify(artifact.content_digest).size_bytes == artifact.size_bytes
    assert {*beside.rglob("*")} == before, "a folder was used beside the bucket"
    assert_no_secret_was_said(build, bucket)
    taken = run(make_build())
    assert steps(taken)["package"] == "reused"
    # It does not say whether the artifact is there: an hour of work is not done again for that.
    bucket.server.is_skewed = True
    refused = run(make_build())
    assert (refused.state, refused.failure["code"]) == ("failed", "EHA-CLOCK")


def assert_no_secret_was_said(build: Build, bucket: BucketPlace) -> None:
    secret = bucket.variables["AWS_SECRET_ACCESS_KEY"]
    owners = [f"build:{build.id}:{step}" for step in steps(build)]
    lines = [line.message for line in log_lines(owners=owners)]
    assert lines
    assert not [line for line in lines if secret in line]
    assert secret not in str(build.failure)
