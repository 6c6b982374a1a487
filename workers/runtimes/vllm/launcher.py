"""vLLM on this host: in a Python environment of its own, which `VLLM_PYTHON` names."""

from collections.abc import Mapping
from typing import Any

from workers.runtimes.asked_version import asked_version
from workers.runtimes.installed import Installed
from workers.runtimes.launcher import Ask
from workers.runtimes.vllm.report import read_report


class VllmLauncher:
    """Started with an interpreter that has vLLM; its version is asked, not configured."""

    def installed(self, environment: Mapping[str, str], *, own_python: str) -> Installed | None:
        """Return the environment that the setting names; None where it has no vLLM."""
        python = environment.get("VLLM_PYTHON", "")
        version = asked_version(python, "vllm") if python else None
        if version is None:
            return None
        # This program's own packages must not shadow those that vLLM was installed with.
        return Installed(python=python, version=version, environment={"PYTHONPATH": ""})

    def read_report(self, ask: Ask, log: str) -> dict[str, Any] | None:
        """Return what vLLM tells on its pages and wrote into its log."""
        return read_report(ask, log)
