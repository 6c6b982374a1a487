"""A disk that fills up in a step fails the build by that name; a retry with room ends it."""

from pathlib import Path

import pytest

from apps.builds.models import Artifact, Build
from apps.builds.services.requests import build_retry
from tests.small_disks import small_disk
from tests.workers.tasks.building import MakeBuild, steps
from workers.tasks.build import build_run

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.engine,
    pytest.mark.long,  # tests/artifacts/test_store.py, build_steps/test_disk_full.py
]


def run(build: Build) -> Build:
    build_run(build_id=build.id, format=1)
    build.refresh_from_db()
    return build


def assert_failed_for_want_of_room(build: Build, step: str, code: str) -> None:
    assert (build.state, steps(build)[step]) == ("failed", "failed")
    assert (build.failure["code"], build.failure["blame"]) == (code, "machine")
    assert build.failure["hint"]
    assert not Artifact.objects.exists()


def test_small_disks_under_steps_and_store_are_told_and_leave_nothing_half_done(
    make_build: MakeBuild, data_dir: Path
) -> None:
    build = make_build()
    builds, artifacts = data_dir / "builds", data_dir / "artifacts"
    with (
        small_disk(builds, size="200k") as larger_folder,
        small_disk(artifacts, size="200k") as larger_store,
    ):
        assert_failed_for_want_of_room(run(build), "fetch", "EHL-DISK-FULL")
        assert not list((builds / build.id).glob(".*")), "a draft was left"
        assert not (builds / build.id / "fetch").exists()
        larger_folder()
        failed = run(build_retry(build=build))
        assert_failed_for_want_of_room(failed, "package", "EHA-DISK-FULL")
        assert not list((artifacts / "manifests").glob("*")), "half an artifact was left"
        assert not (builds / build.id / "package").exists()
        larger_store()
        ended = run(build_retry(build=build))
        assert (ended.state, ended.failure) == ("succeeded", None)
        assert (steps(ended)["fetch"], steps(ended)["package"]) == ("reused", "finished")
