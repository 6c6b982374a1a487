"""Copies of artifacts go when nothing has used them lately."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from controlplane.artifacts import ArtifactFailure, ArtifactStore
from controlplane.artifacts.durable import held_folder
from tests.manual_clock import ManualClock
from tests.small_disks import small_disk
from tests.waiting import DEADLINE_SECONDS
from workers.agent.copies import Copies
from workers.agent.folders import ReplicaFolder, replica_folder, try_lock
from workers.agent.models import KEPT_SECONDS, make_room, model_folder, prune_models


def test_only_what_is_neither_used_nor_recent_is_dropped(tmp_path: Path) -> None:
    clock = ManualClock()
    used_at = clock.time()
    for digest in ("sha256:used", "sha256:recent", "sha256:unused"):
        folder = model_folder(tmp_path, digest)
        folder.mkdir()
        os.utime(folder, (used_at, used_at))
    clock.advance(KEPT_SECONDS + 1)
    os.utime(model_folder(tmp_path, "sha256:recent"), (clock.time(), clock.time()))
    # Listed and not found: as the name of a copy that was moved to its place in between.
    (tmp_path / ".recent.a1b2").symlink_to(tmp_path / "moved")
    assert prune_models(tmp_path, {"sha256:used"}, clock=clock) == ["unused"]
    (tmp_path / ".recent.a1b2").unlink()
    assert sorted(path.name for path in tmp_path.glob("[!.]*")) == ["recent", "used"]


def copy(models: Path, name: str, *, used_at: float, size: int = 100) -> Path:
    folder = model_folder(models, f"sha256:{name}")
    folder.mkdir(parents=True)
    (folder / "weights").write_bytes(bytes(size))
    os.utime(folder, (used_at, used_at))
    return folder


def names(models: Path) -> list[str]:
    return sorted(path.name for path in models.glob("[!.]*"))


def replica_of(replicas: Path, number: int, digest: str) -> ReplicaFolder:
    folder = replica_folder(replicas, f"replica{number}", 1)
    folder.path.mkdir(parents=True)
    folder.write("wanted", {"content_digest": f"sha256:{digest}"})
    return folder


def test_with_a_bound_the_least_recently_used_go_and_no_sooner(tmp_path: Path) -> None:
    clock = ManualClock()
    for age, name in enumerate(("newest", "middle", "oldest")):
        copy(tmp_path, name, used_at=clock.time() - age)
    clock.advance(KEPT_SECONDS * 9)
    assert prune_models(tmp_path, set(), most_bytes=300, clock=clock) == []
    assert prune_models(tmp_path, set(), most_bytes=200, clock=clock) == ["oldest"]
    assert prune_models(tmp_path, {"sha256:middle"}, most_bytes=10, clock=clock) == ["newest"]
    assert names(tmp_path) == ["middle"]


def test_room_is_made_before_a_copy_but_never_of_what_a_replica_has(tmp_path: Path) -> None:
    models, replicas = tmp_path / "models", tmp_path / "replicas"
    for age, name in enumerate(("unused", "served", "ended")):
        copy(models, name, used_at=1_000.0 - age)
    replica_of(replicas, 1, "served")
    replica_of(replicas, 2, "ended").write("exit", {"requested": True})
    replica_of(replicas, 3, "about-to-be-copied")
    assert make_room(models, replicas, wanted_bytes=100, most_bytes=300) == ["ended"]
    assert make_room(models, replicas, wanted_bytes=900, most_bytes=300) == ["unused"]
    assert names(models) == ["served"]


def test_an_agent_does_not_wait_for_who_drops_copies(tmp_path: Path) -> None:
    copy(tmp_path, "unused", used_at=0.0)
    lock = try_lock(tmp_path / ".lock")
    assert lock is not None
    assert prune_models(tmp_path, set(), most_bytes=0) == []
    os.close(lock)
    assert prune_models(tmp_path, set(), most_bytes=0) == ["unused"]


def test_a_copy_that_nobody_will_finish_goes_at_once_and_one_under_way_stays(
    tmp_path: Path,
) -> None:
    with held_folder(tmp_path / ".digest.under-way"):
        (tmp_path / ".digest.abandoned").mkdir()
        assert prune_models(tmp_path, set()) == []
        assert sorted(path.name for path in tmp_path.glob(".digest.*")) == [".digest.under-way"]


HOLD = """
import pathlib, sys
from workers.agent.models import copying
with copying(pathlib.Path(sys.argv[1]), sys.argv[2]):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.mark.process
def test_an_artifact_that_another_replica_copies_is_waited_for_and_not_copied_twice(
    tmp_path: Path,
) -> None:
    digest, other = published(tmp_path, 1), published(tmp_path, 2)
    models = tmp_path / "models"
    models.mkdir()
    url = (tmp_path / "store").as_uri()
    copies = Copies(
        models=models, replicas=tmp_path / "replicas", most_bytes=None, url=url, login=None
    )
    command = [sys.executable, "-c", HOLD, str(models), digest]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert copies.take(other).exists(), "another artifact waits too"
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(copies.take, digest)
            made = ArtifactStore.open(url).materialize(digest, model_folder(models, digest))
            shutil.rmtree(tmp_path / "store")
            holder.stdin.close()
            assert waiting.result(DEADLINE_SECONDS) == made


def published(tmp_path: Path, number: int, *, size: int = 1000) -> str:
    folder = tmp_path / f"source{number}"
    folder.mkdir()
    (folder / "weights").write_bytes(bytes([number]) * size)
    return ArtifactStore.open((tmp_path / "store").as_uri()).publish(folder, {}).content_digest


def test_a_copy_is_taken_from_the_store_once_and_others_make_room(tmp_path: Path) -> None:
    first, second = published(tmp_path, 1), published(tmp_path, 2)
    copies = Copies(
        models=tmp_path / "models",
        replicas=tmp_path / "replicas",
        most_bytes=1500,
        url=(tmp_path / "store").as_uri(),
        login=None,
    )
    there = copies.take(first)
    shutil.move(tmp_path / "store", tmp_path / "away")
    assert copies.take(first) == there
    with pytest.raises(ArtifactFailure):
        copies.take(second)
    assert there.exists(), "dropped for a copy that could not be made"
    shutil.rmtree(tmp_path / "store", ignore_errors=True)
    shutil.move(tmp_path / "away", tmp_path / "store")
    copies.take(second)
    assert names(tmp_path / "models") == [second.removeprefix("sha256:")]


def test_a_damaged_copy_is_made_anew(tmp_path: Path) -> None:
    digest = published(tmp_path, 1)
    copies = Copies(
        models=tmp_path / "models",
        replicas=tmp_path / "replicas",
        most_bytes=None,
        url=(tmp_path / "store").as_uri(),
        login=None,
    )
    there = copies.take(digest)
    (there / "weights").unlink()
    assert (copies.take(digest) / "weights").stat().st_size == 1000


def test_a_full_disk_costs_unused_copies_before_it_costs_a_start(tmp_path: Path) -> None:
    digest = published(tmp_path, 1, size=20_000)
    disk = tmp_path / "disk"
    with small_disk(disk, size="64k"):
        unused = copy(disk / "models", "unused", used_at=0.0, size=50_000)
        copies = Copies(
            models=disk / "models",
            replicas=disk / "replicas",
            most_bytes=None,
            url=(tmp_path / "store").as_uri(),
            login=None,
        )
        assert (copies.take(digest) / "weights").stat().st_size == 20_000
        assert not unused.exists()
