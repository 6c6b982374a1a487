"""TensorRT-LLM on this host: in a Python environment of its own, which `TRTLLM_PYTHON` names.

Not yet run by us: builds that ask for it are refused by a check until it has been seen to work.
"""

from collections.abc import Mapping
from typing import Any

from workers.runtimes.asked_version import asked_version
from workers.runtimes.installed import Installed
from workers.runtimes.launcher import Ask
from workers.runtimes.trtllm.report import read_report


class TrtllmLauncher:
    """Started with an interpreter that has TensorRT-LLM; its version is asked, not configured."""

    def installed(self, environment: Mapping[str, str], *, own_python: str) -> Installed | None:
        """Return the environment that the setting names; None where it has no TensorRT-LLM."""
        python = environment.get("TRTLLM_PYTHON", "")
        version = asked_version(python, "tensorrt_llm") if python else None
        if version is None:
            return None
        # This program's own packages must not shadow those that the engine was installed with.
        return Installed(python=python, version=version, environment={"PYTHONPATH": ""})

    def read_report(self, ask: Ask, log: str) -> dict[str, Any] | None:
        """Return what TensorRT-LLM tells at its version page and wrote into its log."""
        return read_report(ask, log)
