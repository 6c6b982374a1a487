"""Processes that hold memory of the GPU: somebody else's, a dead engine's, one that is half dead.

`python -P benchmarks/gpu/stages/holders.py MODE BYTES`
"""

import ctypes
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

STRANGER, HALF_DEAD, HIDDEN, TAKES_ALL = "stranger", "half-dead", "hidden", "takes-all"
LIFE_SECONDS = 300
_EXIT_THREAD = 60
"""The system call that ends one thread; the process stays while another one lives."""
_MARGIN, _LARGEST_CONTEXT = 64 * 2**20, 600 * 2**20
_LARGEST, _SMALLEST = 2**34, 2**21


@contextmanager
def holder(
    mode: str, count_bytes: int = 0, marks: Mapping[str, str] | None = None
) -> Iterator["subprocess.Popen[str]"]:
    """Run a process that holds so much of the GPU, once it does; kill it in the end."""
    with starting(mode, count_bytes, marks) as process:
        wait_until_held(process)
        yield process


@contextmanager
def starting(
    mode: str, count_bytes: int = 0, marks: Mapping[str, str] | None = None
) -> Iterator["subprocess.Popen[str]"]:
    """Run a process that is going to hold so much of the GPU; kill it in the end."""
    # Nothing of ours in its environment, unless it is to look like ours.
    clean = {name: value for name, value in os.environ.items() if "ENGINEHOUSE_" not in name}
    process = subprocess.Popen(
        [sys.executable, "-P", __file__, mode, str(count_bytes)],
        text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={**clean, **(marks or {})},
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def wait_until_held(process: "subprocess.Popen[str]") -> None:
    """Return once the process holds what it was asked to, or has ended; print what it says."""
    assert process.stdout is not None
    while (line := process.stdout.readline()) and line.strip() != "ready":
        print(f"holder {process.pid}: {line.strip()}", flush=True)


def main() -> None:
    """Hold memory until killed; without a GPU, let the rehearsed one believe it."""
    mode, count_bytes = sys.argv[1], int(sys.argv[2])
    threading.Timer(LIFE_SECONDS, os._exit, (0,)).start()
    if mode == TAKES_ALL:
        _take_all_when_told()
    hold = _hold(mode, count_bytes)
    print("ready", flush=True)
    if mode == HALF_DEAD:
        ctypes.CDLL(None).syscall(_EXIT_THREAD, 0)
    time.sleep(LIFE_SECONDS)
    del hold


def _hold(mode: str, count_bytes: int) -> Any:
    if "REHEARSAL" in os.environ:
        _rehearse(mode, count_bytes)
        return None
    import torch

    return torch.empty(count_bytes, dtype=torch.uint8, device="cuda")


def _rehearse(mode: str, count_bytes: int) -> None:
    import pynvml

    words = f"hidden {count_bytes}" if mode == HIDDEN else str(count_bytes)
    pynvml.HELD.mkdir(exist_ok=True)
    (pynvml.HELD / str(os.getpid())).write_text(words)


def _take_all_when_told() -> None:
    """Take all that is left once somebody else has begun to use the GPU; never return."""
    import pynvml
    import torch

    pynvml.nvmlInit()
    device = pynvml.nvmlDeviceGetHandleByIndex(0)
    print("ready", flush=True)
    sys.stdin.readline()
    before = pynvml.nvmlDeviceGetMemoryInfo(device).used
    holders = [torch.empty(_SMALLEST, dtype=torch.uint8, device="cuda")]
    own = pynvml.nvmlDeviceGetMemoryInfo(device).used
    # The other one's context is as large as this one's: what comes after it are its weights.
    begun = own + min(own - before, _LARGEST_CONTEXT) + _MARGIN
    while pynvml.nvmlDeviceGetMemoryInfo(device).used < begun:
        time.sleep(0.005)
    size = _LARGEST
    while True:
        try:
            holders.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
        except torch.OutOfMemoryError:
            size = max(size // 2, _SMALLEST)
            time.sleep(0.005 if size == _SMALLEST else 0)


if __name__ == "__main__":
    main()
