"""The folder of downloads, of which several builds add to and take from one at once."""

import shutil
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


def test_a_file_that_gets_its_name_meanwhile_does_not_end_the_look_at_the_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.json").write_bytes(b"{}")
    (tmp_path / "model.safetensors.partial").write_bytes(b"half")
    is_file = Path.is_file

    def renamed_after_the_look(path: Path) -> bool:
        found = is_file(path)
        if path.suffix == ".partial":
            path.rename(tmp_path / "moved")
        return found

    monkeypatch.setattr(Path, "is_file", renamed_after_the_look)
    assert fetching._bytes_in(tmp_path) in (2, 6), "of those that are there"
