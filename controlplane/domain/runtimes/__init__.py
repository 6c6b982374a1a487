"""Everything pure about the runtimes, one package each."""

from collections.abc import Mapping
from types import MappingProxyType, ModuleType

from controlplane.domain.runtimes import native
from controlplane.domain.runtimes.capability import Capability, Feature, Support
from controlplane.domain.runtimes.launch import Launch

RUNTIMES: Mapping[str, ModuleType] = MappingProxyType({"native": native})
"""Runtimes that this version can start; a config may name others and be planned for them."""

__all__ = ["RUNTIMES", "Capability", "Feature", "Launch", "Support"]
