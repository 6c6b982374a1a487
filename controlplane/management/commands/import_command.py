"""`manage.py import_command`: a command line on standard input, a config on standard output.

Exits 0 with YAML, notes going to standard error; 1 with one plain sentence when it is not a
command that can be imported.
"""

import sys
from typing import Any

from django.core.management.base import BaseCommand

from controlplane.domain.commands.invocation import MAX_COMMAND_BYTES, RefusedCommandError
from controlplane.domain.commands.notes import import_notes
from controlplane.domain.runtimes.importing import import_command

REFUSED = 1


class Command(BaseCommand):
    help = (
        "Read a vllm serve or trtllm-serve command on standard input (with docker, compose, "
        "Kubernetes or YAML around it) and write the config that means it. Exits 1 when it is no "
        "such command."
    )
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            imported = import_command(_read())
        except RefusedCommandError as refusal:
            self.stderr.write(" ".join(filter(None, (str(refusal), refusal.hint))))
            sys.exit(REFUSED)
        self.stdout.write(imported.text, ending="")
        for line in import_notes(imported):
            self.stderr.write(line)


def _read() -> str:
    try:
        return sys.stdin.read(MAX_COMMAND_BYTES + 1)
    except UnicodeDecodeError:
        raise RefusedCommandError("The text is not UTF-8.") from None
