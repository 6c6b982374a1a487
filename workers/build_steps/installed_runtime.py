"""The runtime of a config as this host has it, in a version that commands are written for."""

import os

from controlplane.domain.failures.registry import build
from controlplane.domain.runtimes import RUNTIMES
from workers.build_steps.failures import StepFailure, unknown_version
from workers.runtimes.container.failures import ContainerRefused
from workers.runtimes.installed import Installed
from workers.runtimes.launcher import Launcher
from workers.runtimes.launchers import LAUNCHERS


def installed_runtime(name: str, *, own_python: str) -> tuple[Launcher, Installed]:
    """Return what starts the runtime here. Raises StepFailure where nothing does."""
    launcher = LAUNCHERS.get(name)
    try:
        installed = launcher.installed(os.environ, own_python=own_python) if launcher else None
    except ContainerRefused as refused:
        raise StepFailure(refused.failure) from refused
    if launcher is None or installed is None:
        raise StepFailure.of(build.NO_RUNTIME, runtime=name)
    known = RUNTIMES[name].capabilities
    if installed.version is not None and installed.version not in known.VERSIONS:
        raise unknown_version(name, installed.version, known.VERSIONS)
    return launcher, installed
