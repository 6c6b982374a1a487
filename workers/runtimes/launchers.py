"""What starts the runtimes and reads what they report; nothing here imports an engine."""

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

from controlplane.domain.spec.choices import RUNTIME_NAMES
from workers.runtimes.launcher import Launcher


def _load(name: str) -> Launcher:
    launcher: Launcher = import_module(f"workers.runtimes.{name}.launcher").LAUNCHER
    return launcher


LAUNCHERS: Mapping[str, Launcher] = MappingProxyType({name: _load(name) for name in RUNTIME_NAMES})
"""By the names of `controlplane.domain.runtimes`; a package's `launcher.py` has its `LAUNCHER`."""
