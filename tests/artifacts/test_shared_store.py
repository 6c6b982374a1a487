"""A store that two users write to, as web and build workers in containers do."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from controlplane.artifacts import ArtifactStore
from tests.artifacts.places import FolderPlace

ROOT = Path(__file__).resolve().parents[2]
NOBODY = 65_534
DAY = 86_400.0
PUBLISH = """
import os, pathlib, sys
from controlplane.artifacts import ArtifactStore
nobody, store, folder = int(sys.argv[1]), pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
os.setgroups([])
os.setgid(nobody)
os.setuid(nobody)
ArtifactStore.open(store.as_uri()).publish(folder, {})
"""
"""In a process that has given up its rights, once it has imported what only root may see."""

SPARE = """
import os, pathlib, sys
from controlplane.artifacts import ArtifactStore
os.setgroups([])
os.setgid(int(sys.argv[1]))
os.setuid(int(sys.argv[1]))
ArtifactStore.open(sys.argv[2]).spare(sys.argv[3])
"""

HOLD = """
import fcntl, sys
held = open(sys.argv[1], "r+")
fcntl.lockf(held, getattr(fcntl, sys.argv[2]))
print("held", flush=True)
sys.stdin.read()
"""


def publish_as_nobody(store: Path, folder: Path) -> None:
    command = [sys.executable, "-c", PUBLISH, str(NOBODY), str(store), str(folder)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr


@pytest.fixture
def reachable(data_dir: Path) -> Iterator[Path]:
    """A folder that other users reach, unlike those of pytest."""
    with tempfile.TemporaryDirectory(dir=data_dir) as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.process
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_what_one_user_has_stored_another_adds_to_and_stores_again(reachable: Path) -> None:
    store = reachable / "store"
    store.mkdir()
    store.chmod(0o2777)
    mine, theirs = reachable / "mine", reachable / "theirs"
    for folder, text in ((mine, "of root"), (theirs, "of nobody")):
        folder.mkdir()
        (folder / "rows.jsonl").write_text(text)
    ours = ArtifactStore.open(store.as_uri())
    first = ours.publish(mine, {}).content_digest
    publish_as_nobody(store, theirs)
    publish_as_nobody(store, mine)
    assert ours.verify(first).content_digest == first
    assert ours.publish(theirs, {}).reused


@pytest.mark.process
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_what_one_user_has_published_another_spares_for_a_day(reachable: Path) -> None:
    store, mine = reachable / "store", reachable / "mine"
    store.mkdir()
    store.chmod(0o2777)
    mine.mkdir()
    (mine / "rows.jsonl").write_text("of root")
    ours = ArtifactStore.open(store.as_uri())
    digest = ours.publish(mine, {}).content_digest
    FolderPlace(store).age(2 * DAY)
    command = [sys.executable, "-c", SPARE, str(NOBODY), store.as_uri(), digest]
    subprocess.run(command, cwd=ROOT, check=True)
    assert ours.sweep([], DAY).artifacts == 0
    assert ours.verify(digest)


@pytest.mark.process
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_store_that_another_user_began_is_had_alone_by_who_sweeps(reachable: Path) -> None:
    store, theirs = reachable / "store", reachable / "theirs"
    store.mkdir()
    store.chmod(0o2777)
    theirs.mkdir()
    (theirs / "rows.jsonl").write_text("of nobody")
    publish_as_nobody(store, theirs)
    (lock,) = store.glob("*.lock")
    # Root writes to anything: what others may is told by the mode alone.
    assert (lock.stat().st_uid, lock.stat().st_mode & 0o777) == (NOBODY, 0o666)
    assert not ArtifactStore.open(store.as_uri()).sweep([], 0).busy


@pytest.mark.process
@pytest.mark.parametrize("kind", ["LOCK_SH", "LOCK_EX"])
def test_a_sweep_sees_who_holds_the_store_by_a_lock_of_posix_as_over_nfs(
    tmp_path: Path, kind: str
) -> None:
    store = ArtifactStore.open(tmp_path.as_uri())
    assert not store.sweep([], 0).busy
    (lock,) = tmp_path.glob("*.lock")
    command = [sys.executable, "-c", HOLD, str(lock), kind]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert store.sweep([], 0).busy
    assert not store.sweep([], 0).busy


def test_the_folders_of_a_closed_store_stay_closed(tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir()
    store.chmod(0o700)
    folder = tmp_path / "set"
    folder.mkdir()
    (folder / "rows.jsonl").write_text("rows")
    ArtifactStore.open(store.as_uri()).publish(folder, {})
    modes = {each.stat().st_mode & 0o777 for each in store.rglob("*") if each.is_dir()}
    assert modes == {0o700}
