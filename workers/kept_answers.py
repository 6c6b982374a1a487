"""What a process said once, kept as JSON for who asks the same again."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from controlplane.artifacts.durable import write_atomically


def kept_answer(place: Path | None) -> dict[str, Any] | None:
    """Return the answer that is kept there, which stays for being in use; None where none is."""
    try:
        answer: dict[str, Any] | None = json.loads(place.read_bytes()) if place else None
    except (OSError, ValueError):
        return None
    if place and answer is not None:
        os.utime(place)  # what is in use is not pruned
    return answer


def keep_answer(place: Path | None, answer: Mapping[str, Any]) -> None:
    if place is not None:
        place.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(place, json.dumps(answer).encode())
