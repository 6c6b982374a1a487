"""`manage.py write_settings_reference`: docs/settings.md, from the catalogue of settings."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from controlplane.domain.settings_catalogue import SETTINGS, write_reference

REFERENCE = Path(__file__).resolve().parents[3] / "docs" / "settings.md"


class Command(BaseCommand):
    help = "Write docs/settings.md from the catalogue of settings."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        REFERENCE.write_text(write_reference(SETTINGS))
        self.stdout.write(f"Wrote {REFERENCE}")
