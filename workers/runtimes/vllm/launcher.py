"""vLLM on this host: in the Python of `VLLM_PYTHON`, or the image of `VLLM_IMAGE`."""

from collections.abc import Mapping
from typing import Any

from workers.runtimes.installed import Installed
from workers.runtimes.launcher import Ask, Launcher
from workers.runtimes.own_or_image import own_or_image
from workers.runtimes.vllm.report import read_report


class VllmLauncher:
    """Started with an interpreter or an image that has vLLM; its version is asked."""

    def installed(self, environment: Mapping[str, str], *, own_python: str) -> Installed | None:
        """Return what the setting names; None where it has no vLLM."""
        return own_or_image(
            "vllm",
            python=environment.get("VLLM_PYTHON", ""),
            reference=environment.get("VLLM_IMAGE", ""),
            environment=environment,
        )

    def read_report(self, ask: Ask, log: str) -> dict[str, Any] | None:
        """Return what vLLM tells on its pages and wrote into its log."""
        return read_report(ask, log)


LAUNCHER: Launcher = VllmLauncher()
