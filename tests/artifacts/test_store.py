import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from controlplane.artifacts import ArtifactFailure, ArtifactStore, describe
from tests.artifacts.places import FolderPlace, Place, flip_a_byte, keys_of_blob
from tests.small_disks import small_disk, small_files
from tests.waiting import DEADLINE_SECONDS

ROOT = Path(__file__).resolve().parents[2]
PASSPORT = {"commit": "c0ffee"}


def test_a_published_folder_comes_back_byte_for_byte(
    store: ArtifactStore, folder: Path, tmp_path: Path
) -> None:
    published = store.publish(folder, PASSPORT)
    there = store.materialize(published.content_digest, tmp_path / "out" / "model")
    assert describe(there) == describe(folder) == published.files
    assert store.passport(published.content_digest) == PASSPORT
    assert store.manifest(published.content_digest).size_bytes == published.size_bytes


def test_the_first_passport_of_a_content_stays(store: ArtifactStore, folder: Path) -> None:
    first = store.publish(folder, PASSPORT)
    second = store.publish(folder, {"commit": "other"})
    assert not first.reused
    assert second.reused
    assert store.passport(first.content_digest) == PASSPORT


def test_of_many_first_passports_one_stays(place: Place, folder: Path) -> None:
    passports = [{"commit": str(number)} for number in range(6)]
    threads = [
        threading.Thread(target=lambda each=each: place.open().publish(folder, each))
        for each in passports
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store = place.open()
    digest = store.publish(folder, PASSPORT).content_digest
    stayed = store.passport(digest)
    assert stayed in passports
    store.publish(folder, {"commit": "late"})
    assert store.passport(digest) == stayed


def test_an_empty_file_is_a_file(store: ArtifactStore, folder: Path, tmp_path: Path) -> None:
    (folder / "empty.txt").touch()
    published = store.publish(folder, PASSPORT)
    assert store.verify(published.content_digest).files == published.files
    assert [b"".join(store.read(each)) for each in published.files if not each.size_bytes] == [b""]
    assert (
        describe(store.materialize(published.content_digest, tmp_path / "out")) == published.files
    )


def test_a_file_is_read_in_pieces_that_are_the_file(store: ArtifactStore, folder: Path) -> None:
    published = store.publish(folder, PASSPORT)
    for each in published.files:
        assert b"".join(store.read(each)) == (folder / each.path).read_bytes()


def test_what_is_not_the_described_file_is_not_stored(place: Place, folder: Path) -> None:
    store = place.open()
    files = describe(folder)
    (folder / "model.safetensors").write_bytes(b"something else")
    with pytest.raises(ArtifactFailure, match=r"`model\.safetensors`"):
        store.publish(folder, PASSPORT, files=files)
    assert not place.kept("manifests")
    assert not keys_of_blob(place, files[-1].sha256)


def test_a_copy_is_safe_from_later_writes_to_the_source(store: ArtifactStore, folder: Path) -> None:
    published = store.publish(folder, PASSPORT)
    (folder / "config.json").write_text("changed")
    store.verify(published.content_digest)


def test_links_take_no_second_room(folder: Path, root: Path) -> None:
    store = ArtifactStore.open(root.as_uri())
    weights = store.publish(folder, PASSPORT, link=True).files[-1]
    (blob,) = keys_of_blob(FolderPlace(root), weights.sha256)
    assert (root / blob).samefile(folder / "model.safetensors")


def test_a_corrupt_blob_is_detected_by_name(place: Place, folder: Path, tmp_path: Path) -> None:
    store = place.open()
    published = store.publish(folder, PASSPORT)
    flip_a_byte(place, published.files[-1].sha256)
    with pytest.raises(ArtifactFailure, match=r"`model\.safetensors` has changed where it lies"):
        store.verify(published.content_digest)
    with pytest.raises(ArtifactFailure, match=r"`model\.safetensors`"):
        store.materialize(published.content_digest, tmp_path / "out")
    with pytest.raises(ArtifactFailure, match=r"`model\.safetensors`"):
        list(store.read(published.files[-1]))
    assert not (tmp_path / "out").exists()
    assert not list(tmp_path.glob(".out*"))


def test_publishing_again_heals_a_corrupt_blob(place: Place, folder: Path) -> None:
    store = place.open()
    published = store.publish(folder, PASSPORT)
    flip_a_byte(place, published.files[-1].sha256)
    store.publish(folder, PASSPORT)
    store.verify(published.content_digest)


def test_a_missing_blob_is_named(place: Place, folder: Path) -> None:
    store = place.open()
    published = store.publish(folder, PASSPORT)
    for key in keys_of_blob(place, published.files[-1].sha256):
        place.remove(key)
    with pytest.raises(ArtifactFailure, match=r"`model\.safetensors`.*is gone"):
        store.verify(published.content_digest)


def test_a_changed_manifest_is_refused(place: Place, folder: Path) -> None:
    store = place.open()
    digest = store.publish(folder, PASSPORT).content_digest
    (key,) = place.kept("manifests")
    stored = json.loads(place.content(key))
    stored["files"][0]["path"] = "renamed.json"
    place.replace(key, json.dumps(stored).encode())
    with pytest.raises(ArtifactFailure, match="list of files"):
        store.verify(digest)


@pytest.mark.parametrize("digest", ["sha256:" + "0" * 64, "nonsense", "../../etc/passwd"])
def test_what_was_never_published_is_said(store: ArtifactStore, digest: str) -> None:
    with pytest.raises(ArtifactFailure, match="holds nothing under") as caught:
        store.verify(digest)
    assert caught.value.failure.code == "EHA-MISSING"


@pytest.mark.parametrize("url", ["gs://bucket/path", "file://host/path", "/plain/path", "file:"])
def test_an_unsupported_url_is_refused_with_what_to_do(url: str) -> None:
    with pytest.raises(ArtifactFailure) as caught:
        ArtifactStore.open(url)
    assert url in caught.value.failure.sentence
    assert "file:///" in (caught.value.failure.hint or "")


def test_a_folder_that_is_right_needs_no_store(place: Place, folder: Path, tmp_path: Path) -> None:
    store = place.open()
    published = store.publish(folder, PASSPORT)
    out = store.materialize(published.content_digest, tmp_path / "out")
    for key in place.kept():
        place.remove(key)
    assert store.materialize(published.content_digest, out) == out


def test_materialize_leaves_a_right_folder_alone(
    store: ArtifactStore, folder: Path, tmp_path: Path
) -> None:
    digest = store.publish(folder, PASSPORT).content_digest
    first = store.materialize(digest, tmp_path / "out").stat().st_ino
    assert store.materialize(digest, tmp_path / "out").stat().st_ino == first


def test_materialize_replaces_a_wrong_folder(
    store: ArtifactStore, folder: Path, tmp_path: Path
) -> None:
    published = store.publish(folder, PASSPORT)
    out = store.materialize(published.content_digest, tmp_path / "out")
    (out / "config.json").unlink()
    (out / "left-over.json").symlink_to("/etc/passwd")
    store.materialize(published.content_digest, out)
    assert describe(out) == published.files
    assert [each.name for each in tmp_path.glob(".out*")] == []


def test_many_may_materialize_one_destination_at_once(
    store: ArtifactStore, folder: Path, tmp_path: Path
) -> None:
    published = store.publish(folder, PASSPORT)
    failures: list[Exception] = []

    def take() -> None:
        try:
            store.materialize(published.content_digest, tmp_path / "out")
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert describe(tmp_path / "out") == published.files


def test_many_may_publish_one_content_at_once(store: ArtifactStore, folder: Path) -> None:
    digests: list[str] = []
    threads = [
        threading.Thread(
            target=lambda: digests.append(store.publish(folder, PASSPORT).content_digest)
        )
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(digests)) == 1
    assert len(digests) == 6
    store.verify(digests[0])


def test_a_full_disk_publishes_nothing(folder: Path, root: Path) -> None:
    store = ArtifactStore.open(root.as_uri())
    with small_files(50_000), pytest.raises(ArtifactFailure) as caught:
        store.publish(folder, PASSPORT)
    assert caught.value.failure.code == "EHA-DISK-FULL"
    assert not list((root / "manifests").glob("*"))
    assert not list((root / "tmp").glob("*"))
    published = store.publish(folder, PASSPORT)
    store.verify(published.content_digest)


@pytest.mark.process
def test_a_publisher_killed_before_the_manifest_leaves_nothing_visible(
    folder: Path, root: Path
) -> None:
    store = ArtifactStore.open(root.as_uri())
    result = _publish_until_the_manifest(folder, root)
    assert result.returncode == -signal.SIGKILL
    assert not list((root / "manifests").glob("*"))
    store.verify(store.publish(folder, PASSPORT).content_digest)


def _publish_until_the_manifest(folder: Path, root: Path) -> subprocess.CompletedProcess[bytes]:
    source = f"""
import os, pathlib, signal
from controlplane.artifacts import ArtifactStore, folder
folder.create_atomically = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
ArtifactStore.open({root.as_uri()!r}).publish(pathlib.Path({os.fspath(folder)!r}), {{}})
"""
    return subprocess.run(
        [sys.executable, "-c", source], cwd=ROOT, check=False, timeout=DEADLINE_SECONDS
    )


def test_a_disk_that_is_really_full_publishes_nothing(tmp_path: Path, folder: Path) -> None:
    disk = tmp_path / "disk"
    with small_disk(disk, size="64k"):
        small = ArtifactStore.open((disk / "artifacts").as_uri())
        with pytest.raises(ArtifactFailure) as caught:
            small.publish(folder, PASSPORT)
        assert caught.value.failure.code == "EHA-DISK-FULL"
        assert not list((disk / "artifacts/manifests").glob("*"))
        assert not list((disk / "artifacts/tmp").glob("*"))
