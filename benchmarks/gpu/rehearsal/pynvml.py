"""NVIDIA's library as it presents one H100, for rehearsals without a card.

On the card are the processes whose environment holds `REHEARSED_CARD_BYTES`.
"""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any


class NVMLError(Exception):
    """What every call may raise."""


def nvmlInit() -> None:
    """There is always a driver."""


def nvmlShutdown() -> None:
    """Nothing is held."""


def nvmlDeviceGetCount() -> int:
    return 1


def nvmlDeviceGetHandleByIndex(index: int) -> int:
    return index


def nvmlDeviceGetHandleByUUID(uuid: str) -> int:
    return 0


def nvmlDeviceGetMemoryInfo(handle: int) -> Any:
    held = sum(each.usedGpuMemory for each in nvmlDeviceGetComputeRunningProcesses(handle))
    return SimpleNamespace(total=81559 * 1024**2, used=600 * 1024**2 + held)


def nvmlDeviceGetName(handle: int) -> str:
    return "NVIDIA H100 80GB HBM3"


def nvmlDeviceGetUUID(handle: int) -> str:
    return "GPU-rehearsal"


def nvmlDeviceGetUtilizationRates(handle: int) -> Any:
    return SimpleNamespace(gpu=0)


def nvmlDeviceGetComputeRunningProcesses(handle: int) -> list[Any]:
    return list(_processes())


def _processes() -> Iterator[Any]:
    for place in Path("/proc").glob("[0-9]*/environ"):
        try:
            words = place.read_bytes().split(b"\0")
        except OSError:
            continue
        held = [int(each[21:]) for each in words if each.startswith(b"REHEARSED_CARD_BYTES=")]
        if held:
            yield SimpleNamespace(pid=int(place.parent.name), usedGpuMemory=held[0])
