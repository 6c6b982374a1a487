"""What commands that change something stand on."""

from typing import Any

from django.core.management.base import BaseCommand

from apps.accounts.audit.recording import Origin, acting


class AuditedCommand(BaseCommand):
    """A command whose changes stand in the audit trail under its name."""

    # They look at our code, not at the operator's settings, and import every page for it: two
    # fifths of a command. The tests run them.
    requires_system_checks: list[str] = []

    def execute(self, *args: Any, **options: Any) -> str | None:
        name = type(self).__module__.rpartition(".")[2]
        with acting(Origin(command=name)):
            return super().execute(*args, **options)
