"""Make a one-time token by which an agent or a gateway joins."""

from datetime import timedelta
from typing import Any

from django.core.management.base import CommandParser

from apps.accounts.commands import AuditedCommand
from apps.fleet.services.enrollment import enrollment_token_create


class Command(AuditedCommand):
    help = (
        "Print a one-time token for ENROLLMENT_TOKEN of a new agent or gateway, or several with "
        "commas between them for a gateway of several processes."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--minutes", type=int, default=60, help="how long it is good for")
        parser.add_argument("--count", type=int, default=1, help="GATEWAY_PROCESSES of the gateway")

    def handle(self, *args: Any, **options: Any) -> None:
        lifetime = timedelta(minutes=options["minutes"])
        tokens = [enrollment_token_create(lifetime=lifetime) for _ in range(options["count"])]
        self.stdout.write(",".join(tokens))
