"""`manage.py write_series_reference`: docs/metrics.md, from the catalogue of series."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from apps.telemetry.series.reference import series_reference

REFERENCE = Path(__file__).resolve().parents[4] / "docs" / "metrics.md"


class Command(BaseCommand):
    help = "Write docs/metrics.md from the catalogue of series."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        REFERENCE.write_text(series_reference())
        self.stdout.write(f"Wrote {REFERENCE}")
