"""Everything pure about the runtimes: one package each, and one table that everyone asks.

The names are those of `RuntimeChoice`; a package's `runtime.py` has its `RUNTIME`.
"""

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

from controlplane.domain.runtimes.capability import Capability, Feature, Support
from controlplane.domain.runtimes.launch import Launch, Start
from controlplane.domain.runtimes.runtime import Runtime
from controlplane.domain.spec.choices import RUNTIME_NAMES


def _load(name: str) -> Runtime:
    runtime: Runtime = import_module(f"{__name__}.{name}.runtime").RUNTIME
    return runtime


RUNTIMES: Mapping[str, Runtime] = MappingProxyType({name: _load(name) for name in RUNTIME_NAMES})
"""Runtimes whose commands, capabilities, failures and metrics are known."""

__all__ = ["RUNTIMES", "Capability", "Feature", "Launch", "Runtime", "Start", "Support"]
