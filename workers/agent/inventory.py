"""The GPUs of this host: its CPU always, its GPUs where NVIDIA's library is there."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controlplane.domain.facts.processors import multiplies_bfloat16
from workers.agent import nvidia

CPU = "CPU"
_CPUINFO = Path("/proc/cpuinfo")
CPU_INDEX = 1000
"""Behind every GPU, however many there are: a GPU that is lost or added moves no other GPU."""
_RESERVED_SHARE, _RESERVED_LEAST_BYTES = 0.2, 1024**3


@dataclass(frozen=True, kw_only=True)
class HostMemory:
    """Bytes of this host, or of the control group that the agent is confined to."""

    total: int
    used: int

    @property
    def for_engines(self) -> int:
        """What engines may plan with: the rest belongs to the system and its neighbours."""
        kept = max(_RESERVED_LEAST_BYTES, int(self.total * _RESERVED_SHARE))
        return max(0, self.total - kept)


def devices(node_name: str) -> list[dict[str, Any]]:
    return [*nvidia.devices(), _cpu(node_name)]


def host_memory() -> HostMemory:
    rows = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
    total = _kilobytes(rows["MemTotal"])
    used = total - _kilobytes(rows["MemAvailable"])
    limit = _number_in(Path("/sys/fs/cgroup/memory.max"))
    if limit is None or limit >= total:
        return HostMemory(total=total, used=used)
    confined = _number_in(Path("/sys/fs/cgroup/memory.current"))
    return HostMemory(total=limit, used=used if confined is None else confined)


def _cpu(node_name: str) -> dict[str, Any]:
    memory = host_memory()
    cores = os.cpu_count() or 1
    return {
        "index": CPU_INDEX,
        "uuid": f"CPU-{hashlib.sha256(node_name.encode()).hexdigest()[:32]}",
        "kind": CPU,
        "memory_bytes": memory.for_engines,
        "name": _cpu_name(),
        "computes_bfloat16": multiplies_bfloat16(_CPUINFO.read_text()),
        "used_bytes": memory.used,
        "utilization_percent": round(min(100.0, os.getloadavg()[0] / cores * 100), 1),
        "clean": True,
    }


def _cpu_name() -> str:
    for line in _CPUINFO.read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()[:128]
    return os.uname().machine


def _kilobytes(text: str) -> int:
    return int(text.split()[0]) * 1024


def _number_in(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None
