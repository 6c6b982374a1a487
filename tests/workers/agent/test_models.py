"""Copies of artifacts go when nothing has used them lately."""

import os
from pathlib import Path

from tests.manual_clock import ManualClock
from workers.agent.models import KEPT_SECONDS, model_folder, prune_models


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
