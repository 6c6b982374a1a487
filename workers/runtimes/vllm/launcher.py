"""vLLM on this host: in a Python environment of its own, which `VLLM_PYTHON` names."""

import subprocess
from collections.abc import Mapping
from typing import Any

from workers.runtimes.installed import Installed
from workers.runtimes.launcher import Ask
from workers.runtimes.vllm.report import read_report

_VERSION = "import importlib.metadata as each; print(each.version('vllm'))"
_VERSION_SECONDS = 60.0


class VllmLauncher:
    """Started with an interpreter that has vLLM; its version is asked, not configured."""

    def installed(self, environment: Mapping[str, str], *, own_python: str) -> Installed | None:
        """Return the environment that the setting names; None where it has no vLLM."""
        python = environment.get("VLLM_PYTHON", "")
        version = _version(python) if python else None
        if version is None:
            return None
        # This program's own packages must not shadow those that vLLM was installed with.
        return Installed(python=python, version=version, environment={"PYTHONPATH": ""})

    def read_report(self, ask: Ask, log: str) -> dict[str, Any] | None:
        """Return what vLLM tells on its pages and wrote into its log."""
        return read_report(ask, log)


def _version(python: str) -> str | None:
    """Return the version as the drivers name it, such as `0.25`."""
    try:
        asked = subprocess.run(
            [python, "-I", "-c", _VERSION],
            capture_output=True,
            text=True,
            timeout=_VERSION_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return ".".join(asked.stdout.strip().split(".")[:2]) or None
