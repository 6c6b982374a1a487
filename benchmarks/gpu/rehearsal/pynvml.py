"""NVIDIA's library as it presents one idle H100, for rehearsals without a card."""

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
    return SimpleNamespace(total=81559 * 1024**2, used=600 * 1024**2)


def nvmlDeviceGetName(handle: int) -> str:
    return "NVIDIA H100 80GB HBM3"


def nvmlDeviceGetUUID(handle: int) -> str:
    return "GPU-rehearsal"


def nvmlDeviceGetUtilizationRates(handle: int) -> Any:
    return SimpleNamespace(gpu=0)


def nvmlDeviceGetComputeRunningProcesses(handle: int) -> list[Any]:
    return []
