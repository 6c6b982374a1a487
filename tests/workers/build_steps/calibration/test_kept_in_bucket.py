"""Sets of a team that lie in a bucket: taken by who has the login, found by who has none."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from controlplane.artifacts import ArtifactFailure
from controlplane.clock import SYSTEM
from controlplane.process_settings.base import variables
from controlplane.process_settings.store import StoreSettings
from tests.artifacts.places import BucketPlace
from tests.bucket_server import BucketServer
from workers.build_steps.calibration.kept import kept_files
from workers.build_steps.options import JobOptions


@pytest.fixture
def bucket() -> Iterator[BucketPlace]:
    with BucketServer("S3", clock=SYSTEM) as server:
        yield BucketPlace(server)


def test_a_step_without_a_login_finds_what_its_supervisor_took(
    bucket: BucketPlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "set"
    folder.mkdir()
    (folder / "rows.jsonl").write_text("rows")
    values = {
        **{"name": "team/news", "version": 1, "column": "text", "rows": 1},
        "content_digest": bucket.open().publish(folder, {}).content_digest,
        "file_name": "rows.jsonl",
    }
    options = JobOptions(
        artifact_url=bucket.url,
        cache_dir=tmp_path / "cache",
        calibration_sets={"team/news": values},
    )
    with monkeypatch.context() as supervisor:
        for name, value in bucket.variables.items():
            supervisor.setenv(name, value)
        taken = kept_files(options)
    for name in variables(StoreSettings):
        monkeypatch.delenv(name, raising=False)
    bucket.server.requests.clear()
    assert kept_files(options) == taken
    assert Path(taken["team/news"]).read_text() == "rows"
    assert bucket.server.requests == []
    shutil.rmtree(tmp_path / "cache")
    with pytest.raises(ArtifactFailure):
        kept_files(options)
