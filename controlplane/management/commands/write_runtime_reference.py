"""`manage.py write_runtime_reference`: docs/runtimes.md, from the capability tables."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from controlplane.domain.runtimes.reference import write_reference

REFERENCE = Path(__file__).resolve().parents[3] / "docs" / "runtimes.md"


class Command(BaseCommand):
    help = "Write docs/runtimes.md from the capability tables of the runtimes."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        REFERENCE.write_text(write_reference())
        self.stdout.write(f"Wrote {REFERENCE}")
