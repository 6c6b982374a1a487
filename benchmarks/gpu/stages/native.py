"""The native engine on CUDA in bfloat16, beside Transformers on the same card."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.gpu.product import Missed, Show

_NAME = "native_on_cuda"


def begin(show: Show) -> None:
    """Start it beside the first steps of the first build, which leave the card half idle."""
    output = show.data / "native.log"
    command = [sys.executable, "-m", "benchmarks.gpu.native_on_cuda"]
    with output.open("w") as log:
        show.beside[_NAME] = subprocess.Popen(
            [*command, str(show.checkpoint), str(_result(show))],
            stdout=log, stderr=log, text=True,
        )  # fmt: skip


def native(show: Show) -> dict[str, Any]:
    """Answers of both, and the engine's own tests for a card."""
    if _NAME not in show.beside:
        begin(show)
    if show.beside[_NAME].wait():
        words = (show.data / "native.log").read_text()
        raise Missed("the comparison ended without figures", {"said": words[-6000:]})
    found: dict[str, Any] = json.loads(_result(show).read_text())
    return found


def _result(show: Show) -> Path:
    return show.data / "native.json"
