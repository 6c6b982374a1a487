"""Everything pure about the runtimes, one package each."""

from collections.abc import Mapping
from types import MappingProxyType, ModuleType

from controlplane.domain.runtimes import native, trtllm, vllm
from controlplane.domain.runtimes.capability import Capability, Feature, Support
from controlplane.domain.runtimes.launch import Launch

RUNTIMES: Mapping[str, ModuleType] = MappingProxyType(
    {"native": native, "vllm": vllm, "trtllm": trtllm}
)
"""Runtimes whose commands, capabilities, failures and metrics are known."""
STARTABLE = frozenset({"native", "vllm"})
"""Those that `workers.runtimes` starts, where a host has them installed."""

__all__ = ["RUNTIMES", "STARTABLE", "Capability", "Feature", "Launch", "Support"]
