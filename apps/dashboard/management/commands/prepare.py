"""`manage.py prepare`: everything that must be true before the processes start."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from apps.accounts.commands import AuditedCommand
from apps.accounts.services.bootstrap import admin_bootstrap
from apps.accounts.signing_in.links import sign_in_link_url
from apps.fleet.services.enrollment import enrollment_token_create
from controlplane.processes.schema import SchemaTooOld, migrate
from controlplane.processes.static_files import collect_static_files


class Command(AuditedCommand):
    help = (
        "Bring the schema up to date, collect the static files, and make the first admin. "
        "Safe to run at any time."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--enroll",
            nargs="*",
            default=[],
            metavar="NAME",
            help="put a one-time token for each of these processes into --tokens",
        )
        parser.add_argument("--tokens", type=Path, help="the file for the tokens, made 0600")

    def handle(self, *args: Any, enroll: list[str], tokens: Path | None, **options: Any) -> None:
        try:
            migrate()
        except SchemaTooOld as error:
            raise CommandError(str(error)) from None
        collect_static_files()
        self._greet()
        if tokens is not None:
            write_tokens(tokens, enroll)

    def _greet(self) -> None:
        token = admin_bootstrap().sign_in_token
        if token is not None:
            self.stdout.write(f"nobody has signed in yet; open once: {sign_in_link_url(token)}")


def write_tokens(path: Path, names: list[str]) -> None:
    """Write a one-time enrollment token for each name, readable by the owner alone."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.unlink(missing_ok=True)
    path.touch(mode=0o600)
    path.write_text(json.dumps({name: enrollment_token_create() for name in names}))
