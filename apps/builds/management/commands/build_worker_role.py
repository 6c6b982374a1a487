import sys
from typing import Any

from django.core.management.base import CommandError, CommandParser

from apps.accounts.commands import AuditedCommand
from apps.builds.database_role import BUILD_WORKER_ROLE, build_worker_role_set
from apps.rest.errors import InvalidInput


class Command(AuditedCommand):
    help = (
        "Make or renew the PostgreSQL role for DATABASE_URL of build workers. It reaches the "
        "tables that builds and their leases need, and no secrets, keys, people or usage. "
        "Run it again after an upgrade."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--name", default=BUILD_WORKER_ROLE, help="the role's name")
        parser.add_argument(
            "--password-stdin", action="store_true", help="read its password from standard input"
        )

    def handle(self, *args: Any, name: str, password_stdin: bool, **options: Any) -> None:
        password = sys.stdin.readline().rstrip("\n") if password_stdin else ""
        try:
            build_worker_role_set(name=name, password=password)
        except InvalidInput as error:
            raise CommandError(error.message) from error
        self.stdout.write(f"The role {name} reaches what builds need, and nothing else.")
