"""`manage.py write_settings_reference`: docs/settings.md, from the fields of the settings."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from controlplane.process_settings.reference import settings_by_group, write_reference

REFERENCE = Path(__file__).resolve().parents[3] / "docs" / "settings.md"


class Command(BaseCommand):
    help = "Write docs/settings.md from the fields of the settings."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        REFERENCE.write_text(write_reference(settings_by_group()))
        self.stdout.write(f"Wrote {REFERENCE}")
