"""What starts the runtimes and reads what they report; nothing here imports an engine."""

from collections.abc import Mapping
from types import MappingProxyType

from workers.runtimes.launcher import Launcher
from workers.runtimes.native.launcher import NativeLauncher
from workers.runtimes.vllm.launcher import VllmLauncher

LAUNCHERS: Mapping[str, Launcher] = MappingProxyType(
    {"native": NativeLauncher(), "vllm": VllmLauncher()}
)
"""By the names of `controlplane.domain.runtimes.STARTABLE`."""
