"""Copies of artifacts go when nothing has used them lately."""

import os
import time
from pathlib import Path

from workers.agent.models import model_folder, prune_models


def test_only_what_is_neither_used_nor_recent_is_dropped(tmp_path: Path) -> None:
    old = time.time() - 2 * 24 * 3600
    for digest in ("sha256:used", "sha256:recent", "sha256:unused"):
        folder = model_folder(tmp_path, digest)
        folder.mkdir()
        if digest != "sha256:recent":
            os.utime(folder, (old, old))
    # Listed and not found: as the name of a copy that was moved to its place in between.
    (tmp_path / ".recent.a1b2").symlink_to(tmp_path / "moved")
    assert prune_models(tmp_path, {"sha256:used"}) == ["unused"]
    (tmp_path / ".recent.a1b2").unlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["recent", "used"]
