"""NVIDIA's library as it presents one H100, or `REHEARSED_DEVICES`, for rehearsals without a GPU.

On a GPU is whoever wrote how many bytes it holds into a file named by its process id, in the folder
`rehearsed-device` of the system's temporary folder; with `hidden` before the number, the GPU shows
the memory and not the process, as in some containers; with the GPU's name after it, it is on that
one, else on the first.
"""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

HELD = Path(tempfile.gettempdir()) / "rehearsed-device"


class NVMLError(Exception):
    """What every call may raise."""


def nvmlInit() -> None:
    """There is always a driver."""


def nvmlShutdown() -> None:
    """Nothing is held."""


def nvmlDeviceGetCount() -> int:
    return int(os.environ.get("REHEARSED_DEVICES", "1"))


def nvmlDeviceGetHandleByIndex(index: int) -> int:
    return index


def nvmlDeviceGetHandleByUUID(uuid: str) -> int:
    number = uuid.removeprefix(nvmlDeviceGetUUID(0)).removeprefix("-")
    return int(number or 0)


def nvmlDeviceGetMigMode(handle: int) -> tuple[int, int]:
    """It is whole, now and after a restart."""
    return 0, 0


def nvmlDeviceGetMemoryInfo(handle: int) -> Any:
    total, used = 81559 * 1024**2, 600 * 1024**2 + sum(each.held for each in _holders(handle))
    return SimpleNamespace(total=total, used=used, free=total - used)


def nvmlDeviceGetName(handle: int) -> str:
    return "NVIDIA H100 80GB HBM3"


def nvmlDeviceGetUUID(handle: int) -> str:
    return f"GPU-rehearsal-{handle}" if handle else "GPU-rehearsal"


def nvmlDeviceGetPowerUsage(handle: int) -> int:
    """Return milliwatts."""
    return 70_000


def nvmlDeviceGetUtilizationRates(handle: int) -> Any:
    return SimpleNamespace(gpu=0)


def nvmlDeviceGetComputeRunningProcesses(handle: int) -> list[Any]:
    return [SimpleNamespace(pid=each.pid, usedGpuMemory=each.held)
            for each in _holders(handle) if each.is_shown]  # fmt: skip


class _Holder(NamedTuple):
    pid: int
    held: int
    is_shown: bool


def _holders(handle: int) -> Iterator[_Holder]:
    for place in HELD.glob("[0-9]*"):
        if not _has_memory(int(place.name)):
            continue
        words = place.read_text().split()
        names = [word for word in words if word.startswith("GPU-")] or [nvmlDeviceGetUUID(0)]
        if words and nvmlDeviceGetUUID(handle) in names:
            entry = next(int(word) for word in words if word.isdecimal())
            yield _Holder(int(place.name), entry, "hidden" not in words)


def _has_memory(pid: int) -> bool:
    """Return whether any thread of the process lives: its first one may have ended."""
    try:
        states = [(each / "stat").read_text() for each in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:
        return False
    return any(each.rpartition(")")[2].split()[0] not in "ZX" for each in states)
