"""`manage.py prepare`: everything that must be true before the processes start."""

import hashlib
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand

from controlplane.processes.schema import migrate


class Command(BaseCommand):
    help = "Bring the schema up to date and collect the static files. Safe to run at any time."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--quiet", action="store_true", help="say nothing that went well")

    def handle(self, *args: Any, quiet: bool, **options: Any) -> None:
        migrate(verbosity=0 if quiet else 1)
        collect_static_files()


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
