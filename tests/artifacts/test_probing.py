"""Whether a store can be used: asked by writing, and never waited for without end."""

import threading
from pathlib import Path

import pytest

from controlplane.artifacts import ArtifactFailure
from controlplane.artifacts.probing import LONGEST_SECONDS, Probe
from tests.artifacts.places import BucketPlace, FolderPlace, Place
from tests.manual_clock import ManualClock
from tests.small_disks import small_files

DAY = 86_400.0


def test_a_probe_leaves_nothing(place: Place) -> None:
    place.open().probe()
    assert not place.kept()


def test_what_a_killed_probe_left_is_swept(place: Place) -> None:
    store = place.open()
    store._blobs.write_document("checks/killed.json", b"{}")
    store.sweep([], DAY)
    assert place.kept("checks")
    place.age(2 * DAY)
    store.sweep([], DAY)
    assert not place.kept()


def test_a_bucket_that_is_read_only_cannot_be_used(bucket: BucketPlace) -> None:
    bucket.server.is_read_only = True
    with pytest.raises(ArtifactFailure) as caught:
        bucket.open().probe()
    assert caught.value.failure.code == "EHA-DENIED"


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ArtifactFailure) as caught:
        FolderPlace(tmp_path / "file" / "artifacts").open().probe()
    failure = caught.value.failure
    assert failure.code == "EHA-UNWRITABLE"
    assert f"`{tmp_path / 'file'}" in failure.sentence
    assert "File exists" in failure.sentence


def test_a_folder_whose_disk_is_full_is_named_and_its_disk_blamed(tmp_path: Path) -> None:
    store = FolderPlace(tmp_path / "artifacts").open()
    store.probe()
    with small_files(1), pytest.raises(ArtifactFailure) as caught:
        store.probe()
    assert caught.value.failure.code == "EHA-DISK-FULL"
    assert str(tmp_path / "artifacts") in caught.value.failure.sentence


def test_a_store_that_never_answers_is_told_and_asked_once() -> None:
    clock, answer = ManualClock(), threading.Event()
    requests: list[int] = []

    def ask() -> None:
        requests.append(1)
        answer.wait()

    probe = Probe(ask, clock=clock)
    entries: list[object] = []
    for _ in range(2):
        waiting = threading.Thread(target=lambda: entries.append(probe.failure("file:///mnt")))
        waiting.start()
        clock.wait_for_waiters()
        clock.advance(LONGEST_SECONDS + 1)
        waiting.join()
    assert [getattr(each, "code", None) for each in entries] == ["EHA-OFFLINE"] * 2
    assert "`file:///mnt` has not answered" in str(entries)
    assert len(requests) == 1
    answer.set()


def test_a_failure_is_told_and_forgotten_when_all_is_well() -> None:
    ready = threading.Event()

    def ask() -> None:
        if not ready.is_set():
            raise OSError("broken")

    probe = Probe(ask)
    with pytest.raises(OSError, match="broken"):
        probe.failure("file:///mnt")
    ready.set()
    assert probe.failure("file:///mnt") is None
