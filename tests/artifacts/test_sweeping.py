import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from controlplane.artifacts import ArtifactStore, describe
from controlplane.artifacts.locking import shared
from tests.manual_clock import ManualClock

DAY = 86_400.0


def test_a_sweep_spares_what_is_referenced_and_what_is_young(
    store: ArtifactStore, folder: Path, root: Path
) -> None:
    digest = store.publish(folder, {}).content_digest
    assert store.sweep([], DAY).artifacts == 0
    _age(root, 2 * DAY)
    assert store.sweep([digest], DAY).artifacts == 0
    store.verify(digest)


def test_a_sweep_removes_an_old_unreferenced_artifact_but_not_shared_files(
    store: ArtifactStore, folder: Path, root: Path
) -> None:
    kept = store.publish(folder, {})
    (folder / "config.json").write_text("{}")
    dropped = store.publish(folder, {})
    _age(root, 2 * DAY)
    swept = store.sweep([kept.content_digest], DAY)
    assert (swept.artifacts, swept.blobs) == (1, 0)  # "{}" is also 1_Pooling/config.json
    assert not store.exists(dropped.content_digest)
    store.verify(kept.content_digest)


def test_a_sweep_frees_the_bytes_of_what_nothing_names(
    store: ArtifactStore, folder: Path, root: Path
) -> None:
    published = store.publish(folder, {})
    (root / "tmp" / "broken-write").write_bytes(b"half")
    _age(root, 2 * DAY)
    swept = store.sweep([], DAY)
    assert swept.freed_bytes == published.size_bytes
    assert not list(root.glob("blobs/sha256/*/*"))
    assert not list(root.glob("passports/*"))
    assert not list(root.glob("tmp/*"))


def test_publishing_again_makes_an_old_artifact_young(
    store: ArtifactStore, folder: Path, root: Path
) -> None:
    digest = store.publish(folder, {}).content_digest
    _age(root, 2 * DAY)
    store.publish(folder, {})
    assert store.sweep([], DAY).artifacts == 0
    store.verify(digest)


def test_a_linked_file_counts_as_young_from_when_it_was_published(
    store: ArtifactStore, folder: Path, root: Path
) -> None:
    _age(folder, 9 * DAY)
    store.publish(folder, {}, link=True)
    for manifest in root.glob("manifests/*"):
        manifest.unlink()
    assert store.sweep([], DAY).blobs == 0


def test_the_grace_is_over_by_the_clock_of_the_store(
    store: ArtifactStore, folder: Path, root: Path
) -> None:
    store.publish(folder, {})
    young = min(path.stat().st_mtime for path in root.rglob("*") if path.is_file())
    clock = ManualClock(datetime.fromtimestamp(young, UTC) + timedelta(seconds=DAY - 1))
    by_clock = ArtifactStore.open(root.as_uri(), clock=clock)
    assert by_clock.sweep([], DAY).artifacts == 0
    clock.advance(DAY)
    assert by_clock.sweep([], DAY).artifacts == 1


def test_a_sweep_does_not_run_beside_a_publish(
    store: ArtifactStore, folder: Path, root: Path
) -> None:
    store.publish(folder, {})
    _age(root, 2 * DAY)
    with shared(root):
        assert store.sweep([], DAY).busy
    assert store.sweep([], DAY).artifacts == 1


def test_a_materialized_folder_outlives_the_sweep(
    store: ArtifactStore, folder: Path, root: Path, tmp_path: Path
) -> None:
    published = store.publish(folder, {})
    out = store.materialize(published.content_digest, tmp_path / "out")
    _age(root, 2 * DAY)
    store.sweep([], DAY)
    assert describe(out) == published.files


def _age(root: Path, seconds: float) -> None:
    for path in root.rglob("*"):
        if path.is_file():
            then = path.stat().st_mtime - seconds
            os.utime(path, (then, then))
