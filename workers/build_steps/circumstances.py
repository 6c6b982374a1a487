"""The machine that a step runs on, in one line of its log: whoever reads it later has no other."""

import os
import platform
import shutil
from pathlib import Path

from workers.build_steps.versions import tool_versions

_MEMINFO = Path("/proc/meminfo")


def circumstances(folder: Path) -> str:
    """Return system, processors, memory, disk and tool versions; nothing of the environment."""
    disk = shutil.disk_usage(folder)
    memory = _memory()
    machine = (
        f"{platform.system()} {platform.release()} {platform.machine()}",
        f"{os.cpu_count()} processors",
        f"{memory.get('MemAvailable', 0) / 1e9:.1f} of {memory.get('MemTotal', 0) / 1e9:.1f} GB of "
        "memory free",
        f"{disk.free / 1e9:.1f} of {disk.total / 1e9:.1f} GB of disk free",
    )
    tools = (f"{name} {version}" for name, version in tool_versions().items() if version)
    return f"{', '.join(machine)}; {', '.join(tools)}"


def _memory() -> dict[str, int]:
    try:
        lines = _MEMINFO.read_text().splitlines()
    except OSError:
        return {}
    return {
        name: int(rest.split()[0]) * 1024
        for name, _, rest in (line.partition(":") for line in lines)
        if rest.split()
    }
