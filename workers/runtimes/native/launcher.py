"""The native engine on this host: it is there wherever this program is."""

from collections.abc import Mapping
from typing import Any

from controlplane.domain.json_text import read_json
from workers.runtimes.engine_cache import numba_cache
from workers.runtimes.installed import Installed
from workers.runtimes.launcher import Ask, Launcher


class NativeLauncher:
    """Started with this program's own interpreter."""

    def installed(self, environment: Mapping[str, str], *, own_python: str) -> Installed | None:
        """Return the interpreter as it is, and where its drafter is compiled to."""
        return Installed(python=own_python, environment=numba_cache(environment))

    def read_report(self, ask: Ask, log: str) -> dict[str, Any] | None:
        """Return what the engine says at `/info`."""
        answer = ask("/info")
        try:
            content = read_json(answer) if answer is not None else None
        except ValueError:
            return None
        return content if isinstance(content, dict) else None


LAUNCHER: Launcher = NativeLauncher()
