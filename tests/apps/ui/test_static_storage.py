"""The static files are collected whole, under hashed names, as the web process serves them."""

import json
from pathlib import Path

from django.conf import LazySettings
from django.core.management import call_command


def test_every_static_file_of_ours_is_collected_and_nothing_else(
    tmp_path: Path, settings: LazySettings
) -> None:
    settings.STATIC_ROOT = tmp_path
    settings.STORAGES = settings.STORAGES | {
        "staticfiles": {"BACKEND": "apps.ui.static_storage.HashedStaticFilesStorage"}
    }
    call_command("collectstatic", interactive=False, verbosity=0)
    hashed = json.loads((tmp_path / "staticfiles.json").read_text())["paths"]
    ours = {
        str(path.relative_to(folder))
        for folder in map(Path, settings.STATICFILES_DIRS)
        for path in folder.rglob("*")
        if path.is_file()
    }
    assert set(hashed) == ours
    assert (tmp_path / hashed["js/log.js"]).is_file()
