"""What starts the runtimes and reads what they report; nothing here imports an engine."""

from collections.abc import Mapping
from types import MappingProxyType

from workers.runtimes.launcher import Launcher
from workers.runtimes.native.launcher import NativeLauncher
from workers.runtimes.trtllm.launcher import TrtllmLauncher
from workers.runtimes.vllm.launcher import VllmLauncher

LAUNCHERS: Mapping[str, Launcher] = MappingProxyType(
    {"native": NativeLauncher(), "vllm": VllmLauncher(), "trtllm": TrtllmLauncher()}
)
"""By the names of `controlplane.domain.runtimes`."""
