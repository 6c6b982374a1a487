"""The static files of the pages, collected under hashed names before the web process looks."""

import hashlib
from pathlib import Path

from django.conf import settings
from django.core.management import call_command


def collect_static_files() -> None:
    """Collect the static files unless those collected last are the same."""
    mark = Path(settings.STATIC_ROOT) / ".collected"
    digest = _digest_of_static_files()
    if mark.exists() and mark.read_text() == digest:
        return
    call_command("collectstatic", interactive=False, verbosity=0, clear=True)
    mark.write_text(digest)


def _digest_of_static_files() -> str:
    state = hashlib.sha256()
    for folder in map(Path, settings.STATICFILES_DIRS):
        for path in sorted(folder.rglob("*")):
            facts = path.stat()
            state.update(f"{path}:{facts.st_size}:{facts.st_mtime_ns}\n".encode())
    return state.hexdigest()
