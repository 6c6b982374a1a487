"""TensorRT-LLM on this host: in the Python of `TRTLLM_PYTHON`, or the image of `TRTLLM_IMAGE`.

Not yet run by us, which a check says of each config that asks for it.
"""

from collections.abc import Mapping
from typing import Any

from workers.runtimes.installed import Installed
from workers.runtimes.launcher import Ask, Launcher
from workers.runtimes.own_or_image import own_or_image
from workers.runtimes.trtllm.report import read_report


class TrtllmLauncher:
    """Started with an interpreter or an image that has TensorRT-LLM; its version is asked."""

    def installed(self, environment: Mapping[str, str], *, own_python: str) -> Installed | None:
        """Return what the setting names; None where it has no TensorRT-LLM."""
        return own_or_image(
            "tensorrt_llm",
            python=environment.get("TRTLLM_PYTHON", ""),
            reference=environment.get("TRTLLM_IMAGE", ""),
            environment=environment,
        )

    def read_report(self, ask: Ask, log: str) -> dict[str, Any] | None:
        return read_report(ask, log)


LAUNCHER: Launcher = TrtllmLauncher()
