"""Where no secret key is named, one is made once and kept for its owner alone."""

import stat
from pathlib import Path

from controlplane.secret_key import kept_secret_key


def test_it_is_made_once_for_its_owner_alone_and_another_folder_has_another(tmp_path: Path) -> None:
    made = kept_secret_key(tmp_path / "one")
    kept = tmp_path / "one" / "keys" / "django.key"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert kept.read_text() == made == kept_secret_key(tmp_path / "one")
    assert len(made) >= 64
    assert kept_secret_key(tmp_path / "two") != made
