"""`manage.py write_config_reference`: docs/config.md and the JSON Schema beside it."""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from controlplane.domain.config_reference import write_reference
from controlplane.domain.spec.json_schema import config_schema

_DOCS = Path(__file__).resolve().parents[3] / "docs"
REFERENCE = _DOCS / "config.md"
SCHEMA = _DOCS / "config.schema.json"


class Command(BaseCommand):
    help = "Write docs/config.md and docs/config.schema.json from the spec's models and the rules."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        REFERENCE.write_text(write_reference())
        SCHEMA.write_text(schema_text())
        self.stdout.write(f"Wrote {REFERENCE} and {SCHEMA}")


def schema_text() -> str:
    return json.dumps(config_schema(), indent=1) + "\n"
