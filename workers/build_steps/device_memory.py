"""GPU memory of a set of processes, by NVIDIA's management library where it is there."""

import logging
from collections.abc import Collection, Iterator
from contextlib import suppress
from functools import cache
from typing import Any

try:
    import pynvml
except ImportError:
    pynvml = None

_log = logging.getLogger(__name__)


class DeviceMemory:
    """Keeps the most that some processes ever held on all GPUs together.

    A library that cannot tell whose memory is whose, as in some containers, tells nothing.
    """

    def __init__(self) -> None:
        self.peak_bytes: int | None = None
        """None where there is no GPU, or nobody who could tell."""
        self._devices = _open_devices()

    def look(self, pids: Collection[int]) -> None:
        sizes = [size for device in self._devices for size in _used_bytes(device, pids)]
        if sizes:
            self.peak_bytes = max(self.peak_bytes or 0, sum(sizes))


@cache
def _open_devices() -> list[Any]:
    """Return every GPU, opened once: the library stays open until the process ends."""
    if pynvml is None:
        return []
    with suppress(pynvml.NVMLError):
        pynvml.nvmlInit()
        count = pynvml.nvmlDeviceGetCount()
        return [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(count)]
    return []


def _used_bytes(device: Any, pids: Collection[int]) -> Iterator[int]:
    try:
        users = pynvml.nvmlDeviceGetComputeRunningProcesses(device)
    except pynvml.NVMLError as error:
        _log.debug("a GPU does not tell its users: %s", error)
        return
    for user in users:
        if user.pid in pids and user.usedGpuMemory is not None:
            yield int(user.usedGpuMemory)
