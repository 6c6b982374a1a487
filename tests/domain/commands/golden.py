"""The short form of every imported case that `data/vllm_imports.json` keeps.

`python -m tests.domain.commands.golden` writes the file anew; read the difference before you keep
it.
"""

import json
from collections.abc import Mapping
from typing import Any

from controlplane.domain.commands.invocation import RefusedCommandError
from controlplane.domain.runtimes.importing import import_command
from tests.domain.cases import DATA
from tests.domain.commands.command_cases import as_command, command_cases

FILE = DATA / "vllm_imports.json"


def summary(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the import of one case comes to."""
    try:
        imported = import_command(as_command(facts))
    except RefusedCommandError as refusal:
        return {"refused": str(refusal)}
    return {
        "complete": imported.complete,
        "mapped": {each.flag: f"{_short(each.field)} = {each.value}" for each in imported.mapped},
        "changed": {each.flag: f"{_short(each.field)} = {each.value}" for each in imported.changed},
        "questions": [_short(each.field) for each in imported.questions],
        "not_carried": [each.flag for each in imported.not_carried],
        "secrets": [each.name for each in imported.secrets],
    }


def summaries() -> dict[str, dict[str, Any]]:
    """Return the short form of every case by its id."""
    return {facts["id"]: summary(facts) for facts in command_cases()}


def _short(field: str) -> str:
    return field.rsplit(".", 1)[-1]


if __name__ == "__main__":
    FILE.write_text(json.dumps(summaries(), indent=1, ensure_ascii=False) + "\n")
