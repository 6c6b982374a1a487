"""The child that replays kept outlines: started for one order, and gone when nobody wants it."""

import asyncio
import json
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

LONGEST_SECONDS = 1200.0
_ALLOWED = (
    "PATH",
    "HOME",
    "LANG",
    "LC_ALL",
    "TZ",
    "TMPDIR",
    "VIRTUAL_ENV",
    "PYTHONPATH",
    "NUMBA_CACHE_DIR",
)
_LONGEST_ANSWER_BYTES = 1024 * 1024
_SOURCE_ROOT = Path(__file__).resolve().parents[3]

Figures = Mapping[str, Any]


class SimulationFailed(Exception):
    """There are no figures, and why, in one word that the control plane knows."""


async def simulate(order: Mapping[str, Any]) -> Figures:
    """Return the figures of an order. Raises SimulationFailed."""
    child = await _started()
    try:
        return await _answer(child, order)
    finally:
        with suppress(ProcessLookupError):
            child.kill()
        await child.wait()


async def _answer(child: Process, order: Mapping[str, Any]) -> Figures:
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        child.stdin.write(json.dumps(order).encode() + b"\n")
        # Its input stays open while it works: it ends with it.
        line = await child.stdout.readline()
        figures = json.loads(line)
    except (ValueError, OSError):
        raise SimulationFailed("failed") from None
    if not isinstance(figures, dict):
        raise SimulationFailed("failed")
    return figures


async def _started() -> Process:
    if find_spec("numba") is None:
        raise SimulationFailed("no_numba")
    environment = {name: os.environ[name] for name in _ALLOWED if name in os.environ}
    try:
        return await asyncio.create_subprocess_exec(
            sys.executable, "-m", "workers.outline_tuning",
            stdin=PIPE, stdout=PIPE, stderr=DEVNULL, cwd=_SOURCE_ROOT, env=environment,
            limit=_LONGEST_ANSWER_BYTES, start_new_session=True,
        )  # fmt: skip
    except OSError:
        raise SimulationFailed("failed") from None
