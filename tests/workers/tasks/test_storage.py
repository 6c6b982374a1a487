"""Stored files that nothing names go a day after they lost their last name."""

import os
from pathlib import Path

import pytest
from pytest_django import DjangoCaptureOnCommitCallbacks, Settings

from apps.builds.artifacts.deleting import artifact_delete
from controlplane import clock
from controlplane.artifacts import ArtifactStore
from controlplane.celery import app
from tests import factories
from tests.apps.builds.stage import make_passported
from workers.tasks.storage import GRACE_SECONDS, sweep

pytestmark = pytest.mark.django_db


@pytest.fixture
def store(tmp_path: Path, settings: Settings) -> ArtifactStore:
    settings.ARTIFACT_URL = (tmp_path / "store").as_uri()
    return ArtifactStore.open(settings.ARTIFACT_URL)


def publish(store: ArtifactStore, folder: Path, content: str) -> str:
    folder.mkdir()
    (folder / "config.json").write_text(content)
    digest = store.publish(folder, {"format": 1}).content_digest
    age(folder.with_name("store"), seconds=0)  # the kernel's clock may be another than the test's
    return digest


def age(root: Path, *, seconds: float = 2 * GRACE_SECONDS) -> None:
    for path in root.rglob("*"):
        if path.is_file():
            os.utime(path, (0, clock.SYSTEM.time() - seconds))


def test_an_artifact_is_kept_while_it_is_named_and_a_day_beyond(
    store: ArtifactStore,
    tmp_path: Path,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    named = publish(store, tmp_path / "named", "{}")
    unnamed = publish(store, tmp_path / "unnamed", "[]")
    artifact = make_passported(team=factories.make_team(), content_digest=named)
    age(tmp_path / "store")
    sweep(format=1)
    assert (store.exists(named), store.exists(unnamed)) == (True, False)
    with django_capture_on_commit_callbacks(execute=True):
        artifact_delete(artifact=artifact)
    sweep(format=1)
    store.verify(named)
    age(tmp_path / "store")
    sweep(format=1)
    assert not store.exists(named)


def test_two_installations_in_one_place_remove_nothing_of_each_other(
    store: ArtifactStore, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    team = factories.make_team(is_default=True)
    unnamed = publish(store, tmp_path / "unnamed", "{}")
    sweep(format=1)
    ours = team.id
    team.delete()
    factories.make_team(is_default=True)
    age(tmp_path / "store")
    sweep(format=1)
    assert store.exists(unnamed)
    assert f"that of installation `{ours}`" in caplog.text
    (tmp_path / "store" / "installation.json").unlink()
    sweep(format=1)
    assert not store.exists(unnamed)
    assert (tmp_path / "store" / "installation.json").exists()


def test_a_manifest_that_cannot_be_read_stops_the_sweep(
    store: ArtifactStore, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    publish(store, tmp_path / "named", "{}")
    age(tmp_path / "store")
    broken = tmp_path / "store" / "manifests" / f"{'0' * 64}.json"
    broken.write_text("{")
    os.utime(broken, (0, clock.SYSTEM.time()))
    sweep(format=1)
    assert "nothing swept" in caplog.text
    assert list((tmp_path / "store" / "blobs").rglob("*"))


def test_beat_asks_for_it_every_hour() -> None:
    entry = app.conf.beat_schedule["sweep-artifacts"]
    assert (entry["task"], entry["schedule"]) == (sweep.name, 3600.0)
