"""A store that two users write to, as web and build workers in containers do."""

import os
import traceback
from pathlib import Path

import pytest

from controlplane.artifacts import ArtifactStore

NOBODY = 65_534


def publish_as_nobody(store: Path, folder: Path) -> None:
    """Publish in a process that has given up its rights."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            ArtifactStore.open(store.as_uri()).publish(folder, {})
            status = 0
        except BaseException:  # it must not run on as a second pytest
            traceback.print_exc()
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_what_one_user_has_stored_another_adds_to_and_stores_again(data_dir: Path) -> None:
    store = data_dir / "shared-store"
    store.mkdir()
    store.chmod(0o2777)
    mine, theirs = data_dir / "mine", data_dir / "theirs"
    for folder, text in ((mine, "of root"), (theirs, "of nobody")):
        folder.mkdir()
        (folder / "rows.jsonl").write_text(text)
    ours = ArtifactStore.open(store.as_uri())
    first = ours.publish(mine, {}).content_digest
    publish_as_nobody(store, theirs)
    publish_as_nobody(store, mine)
    assert ours.verify(first).content_digest == first
    assert ours.publish(theirs, {}).reused


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
