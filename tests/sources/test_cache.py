"""The folder of downloads, of which several builds add to and take from one at once."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from controlplane.sources import cache, fetching, prune


def test_a_download_that_another_worker_removes_meanwhile_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for commit in ("c1", "c2"):
        (tmp_path / "hub" / "org--tiny" / commit).mkdir(parents=True)
    last_use = cache._last_use

    def both_removed(folder: Path) -> float:
        used_at = last_use(folder)
        shutil.rmtree(tmp_path / "hub", ignore_errors=True)
        return used_at

    monkeypatch.setattr(cache, "_last_use", both_removed)
    assert prune(tmp_path, 0) == 0


def test_what_is_renamed_or_removed_meanwhile_does_not_end_the_look_at_the_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.json").write_bytes(b"{}")
    (tmp_path / "model.safetensors.partial").write_bytes(b"half")
    (tmp_path / "removed" / "below").mkdir(parents=True)
    walk = os.walk

    def changed_after_the_look(folder: Path) -> Iterator[object]:
        for outcome in walk(folder):
            if (tmp_path / "removed").exists():
                (tmp_path / "model.safetensors.partial").rename(tmp_path / "moved")
                shutil.rmtree(tmp_path / "removed")
            yield outcome

    monkeypatch.setattr(os, "walk", changed_after_the_look)
    assert fetching._bytes_in(tmp_path) == 2, "of those that are there"
