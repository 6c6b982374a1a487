"""The machine that a step runs on, in one line of its log: whoever reads it later has no other."""

import os
import platform
import shutil
from pathlib import Path

import psutil

from workers.build_steps.versions import tool_versions


def host_summary(folder: Path) -> str:
    """Return system, processors, memory, disk and tool versions; nothing of the environment."""
    disk = shutil.disk_usage(folder)
    memory = psutil.virtual_memory()
    machine = (
        f"{platform.system()} {platform.release()} {platform.machine()}",
        f"{os.cpu_count()} processors",
        f"{memory.available / 1e9:.1f} of {memory.total / 1e9:.1f} GB of memory free",
        f"{disk.free / 1e9:.1f} of {disk.total / 1e9:.1f} GB of disk free",
    )
    tools = (f"{name} {version}" for name, version in tool_versions().items() if version)
    return f"{', '.join(machine)}; {', '.join(tools)}"
