"""`manage.py write_rule_reference`: docs/rules.md, from the rules."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from controlplane.domain.rules.reference import write_reference

REFERENCE = Path(__file__).resolve().parents[3] / "docs" / "rules.md"


class Command(BaseCommand):
    help = "Write docs/rules.md from the rules themselves."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        REFERENCE.write_text(write_reference())
        self.stdout.write(f"Wrote {REFERENCE}")
