from datetime import timedelta
from pathlib import Path

from controlplane.artifacts import ArtifactStore, describe
from controlplane.artifacts.locking import shared
from controlplane.clock import SYSTEM
from tests.artifacts.places import FolderPlace, Place
from tests.manual_clock import ManualClock

DAY = 86_400.0


def test_a_sweep_spares_what_is_referenced_and_what_is_young(place: Place, folder: Path) -> None:
    store = place.open()
    digest = store.publish(folder, {}).content_digest
    assert store.sweep([], DAY).artifacts == 0
    place.age(2 * DAY)
    assert store.sweep([digest], DAY).artifacts == 0
    store.verify(digest)


def test_a_sweep_removes_an_old_unreferenced_artifact_but_not_shared_files(
    place: Place, folder: Path
) -> None:
    store = place.open()
    kept = store.publish(folder, {})
    (folder / "config.json").write_text("{}")
    dropped = store.publish(folder, {})
    place.age(2 * DAY)
    swept = store.sweep([kept.content_digest], DAY)
    assert (swept.artifacts, swept.blobs) == (1, 0)  # "{}" is also 1_Pooling/config.json
    assert not store.exists(dropped.content_digest)
    store.verify(kept.content_digest)


def test_a_sweep_frees_the_bytes_of_what_nothing_names(place: Place, folder: Path) -> None:
    store = place.open()
    published = store.publish(folder, {})
    place.age(2 * DAY)
    swept = store.sweep([], DAY)
    assert swept.freed_bytes == published.size_bytes
    assert not place.kept()


def test_a_sweep_of_a_folder_removes_broken_writes(root: Path, folder: Path) -> None:
    place = FolderPlace(root)
    place.open().publish(folder, {})
    (root / "tmp" / "broken-write").write_bytes(b"half")
    place.age(2 * DAY)
    place.open().sweep([], DAY)
    assert not list(root.glob("tmp/*"))


def test_a_sweep_removes_old_passports_that_never_got_a_manifest(
    place: Place, folder: Path
) -> None:
    store = place.open()
    store.publish(folder, {"commit": "broken off"})
    (manifest,) = place.kept("manifests")
    place.remove(manifest)
    assert store.sweep([], DAY).artifacts == 0
    assert place.kept("passports")
    place.age(2 * DAY)
    store.sweep([], DAY)
    assert not place.kept()


def test_publishing_again_makes_an_old_artifact_young(place: Place, folder: Path) -> None:
    store = place.open()
    digest = store.publish(folder, {}).content_digest
    place.age(2 * DAY)
    store.publish(folder, {})
    assert store.sweep([], DAY).artifacts == 0
    store.verify(digest)


def test_a_linked_file_counts_as_young_from_when_it_was_published(
    place: Place, folder: Path
) -> None:
    store = place.open()
    FolderPlace(folder).age(9 * DAY)
    store.publish(folder, {}, link=True)
    for manifest in place.kept("manifests"):
        place.remove(manifest)
    assert store.sweep([], DAY).blobs == 0


def test_the_grace_is_over_by_the_clock_of_the_store(place: Place, folder: Path) -> None:
    store = place.open()
    store.publish(folder, {})
    clock = ManualClock(SYSTEM.now() + timedelta(seconds=DAY - 3600))
    by_clock = place.open(clock=clock)
    assert by_clock.sweep([], DAY).artifacts == 0
    clock.advance(DAY)
    assert by_clock.sweep([], DAY).artifacts == 1


def test_a_sweep_does_not_run_beside_a_publish(folder: Path, root: Path) -> None:
    store = ArtifactStore.open(root.as_uri())
    store.publish(folder, {})
    FolderPlace(root).age(2 * DAY)
    with shared(root):
        assert store.sweep([], DAY).busy
    assert store.sweep([], DAY).artifacts == 1


def test_a_materialized_folder_outlives_the_sweep(
    place: Place, folder: Path, tmp_path: Path
) -> None:
    store = place.open()
    published = store.publish(folder, {})
    out = store.materialize(published.content_digest, tmp_path / "out")
    place.age(2 * DAY)
    store.sweep([], DAY)
    assert describe(out) == published.files
