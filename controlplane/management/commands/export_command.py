"""`manage.py export_command FILE --format vllm|trtllm|truss|enginehouse`: a config in other words.

Writes the command or YAML to standard output and what it cannot say to standard error. Exits 0, or
2 when the file cannot be read as a config.
"""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from controlplane.domain.commands.notes import export_notes
from controlplane.domain.runtimes.exporting import (
    USUAL_FORMAT,
    ExportFormat,
    NotAConfigError,
    export_config,
)

UNREADABLE = 2


class Command(BaseCommand):
    help = (
        "Write a config as a vllm serve or trtllm-serve command, as Truss's config.yaml, or ours."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", help="the config.yaml, or - for standard input")
        parser.add_argument(
            "--format",
            choices=[each.value for each in ExportFormat],
            default=USUAL_FORMAT.value,
            dest="form",
        )

    def handle(self, *args: Any, file: str, form: str, **options: Any) -> None:
        try:
            text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
            exported = export_config(text, ExportFormat(form))
        except (OSError, UnicodeDecodeError) as error:
            self.stderr.write(f"{file}: cannot be read: {error}.")
            sys.exit(UNREADABLE)
        except NotAConfigError as error:
            for each in error.errors:
                self.stderr.write(each.line_in(file))
            sys.exit(UNREADABLE)
        self.stdout.write(exported.text, ending="")
        for line in export_notes(exported):
            self.stderr.write(line)
