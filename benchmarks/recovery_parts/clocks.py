"""Clocks of single processes that are days off: libfaketime's, where it is."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.hygiene import find_library

MARKS = {"gateway": "workers.gateway", "agent": "workers.agent"}
_HERE = Path(__file__).with_name("other_clocks")
_LIBRARY = find_library(Path("/usr/lib"))
CAN_BE_OFF = _LIBRARY is not None


class Clocks:
    """Which kinds of process begin with which clock, from their next start on."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "clocks.json"

    def prepare(self, patch: pytest.MonkeyPatch) -> None:
        """Have every Python of an installation look, once it begins."""
        if not CAN_BE_OFF:
            return
        paths = [str(_HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
        patch.setenv("PYTHONPATH", os.pathsep.join(paths))
        patch.setenv("CLOCKS_OF_PROCESSES", str(self._file))
        patch.setenv("FAKETIME_LIBRARY", str(_LIBRARY))

    @contextmanager
    def off(self, kind: str, *, days: float) -> Iterator[None]:
        """Processes of the kind that begin meanwhile are so many days ahead."""
        self._file.write_text(json.dumps({MARKS[kind]: days}))
        try:
            yield
        finally:
            self._file.unlink()
