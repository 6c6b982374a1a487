"""What the process of a benchmark leaves for its supervisor: a file, written whole each time."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from controlplane.artifacts.durable import write_atomically

FILE_NAME = "stages.json"


def progress_write(
    folder: Path, *, stages: list[list[Mapping[str, Any]]], done_seconds: float,
    total_seconds: float, words: str,
) -> None:  # fmt: skip
    content = {
        "stages": stages,
        "progress": {
            "done_seconds": round(done_seconds, 1),
            "total_seconds": round(total_seconds, 1),
            "words": words,
        },
    }
    write_atomically(folder / FILE_NAME, json.dumps(content).encode())


def progress_read(folder: Path) -> Mapping[str, Any] | None:
    try:
        progress: Mapping[str, Any] = json.loads((folder / FILE_NAME).read_bytes())
    except (OSError, ValueError):
        return None
    return progress
