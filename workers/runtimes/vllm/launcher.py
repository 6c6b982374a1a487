"""vLLM on this host: in the Python of `VLLM_PYTHON`, or the image of `VLLM_IMAGE`."""

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from workers.runtimes.engine_cache import engine_cache, numba_cache
from workers.runtimes.installed import Installed
from workers.runtimes.launcher import Ask, Launcher
from workers.runtimes.own_or_image import own_or_image
from workers.runtimes.vllm.part import write_part
from workers.runtimes.vllm.report import read_report

_log = logging.getLogger(__name__)


class VllmLauncher:
    """Started with an interpreter or an image that has vLLM; its version is asked."""

    def installed(self, environment: Mapping[str, str], *, own_python: str) -> Installed | None:
        """Return what the setting names; None where it has no vLLM."""
        installed = own_or_image(
            "vllm",
            python=environment.get("VLLM_PYTHON", ""),
            reference=environment.get("VLLM_IMAGE", ""),
            environment=environment,
        )
        return installed and _with_drafter(installed, environment)

    def read_report(self, ask: Ask, log: str) -> dict[str, Any] | None:
        return read_report(ask, log)


def _with_drafter(installed: Installed, environment: Mapping[str, str]) -> Installed:
    cache = engine_cache(environment)
    try:
        part = write_part(cache / "parts")
    except OSError as error:  # only configs that look ahead need it, and vLLM tells of their start
        _log.warning("vLLM gets no drafter of ours, %s cannot be written: %s", cache, error)
        return installed
    if installed.image is not None:
        return replace(installed, imports=part)
    own = {"PYTHONPATH": str(part), **numba_cache(environment)}
    return replace(installed, imports=part, environment={**installed.environment, **own})


LAUNCHER: Launcher = VllmLauncher()
