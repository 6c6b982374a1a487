"""The native engine on CUDA in bfloat16, beside Transformers on the same card.

By itself: a vLLM that starts meanwhile refuses, once another process gives back memory of the card.
"""

import json
import subprocess
import sys
from typing import Any

from benchmarks.gpu.product import Missed, Show


def native(show: Show) -> dict[str, Any]:
    """Answers of both, and the engine's own tests for a card."""
    result = show.data / "native.json"
    command = [sys.executable, "-m", "benchmarks.gpu.native_on_cuda"]
    ended = subprocess.run(
        [*command, str(show.checkpoint), str(result)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if ended.returncode:
        raise Missed("the comparison ended without figures", {"said": ended.stdout[-6000:]})
    found: dict[str, Any] = json.loads(result.read_text())
    return found
