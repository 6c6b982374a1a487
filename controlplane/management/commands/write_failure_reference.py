"""`manage.py write_failure_reference`: docs/failures.md, from the registry of failures."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from controlplane.domain.failures.reference import write_reference

REFERENCE = Path(__file__).resolve().parents[3] / "docs" / "failures.md"


class Command(BaseCommand):
    help = "Write docs/failures.md from the registry of failures."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        REFERENCE.write_text(write_reference())
        self.stdout.write(f"Wrote {REFERENCE}")
