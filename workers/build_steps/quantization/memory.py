"""Whether a machine can hold a model, asked before the first weight is read."""

import os
from pathlib import Path

import psutil
import torch

from controlplane.domain.forecast import calibration_memory as arithmetic
from controlplane.domain.spec import Spec
from workers.build_steps.processes import memory_of
from workers.build_steps.quantization import failures
from workers.build_steps.quantization.checkpoint import Checkpoint

_CGROUP = Path("/sys/fs/cgroup")


def check_host_memory(needed: int, *, limit: int | None, what: str) -> None:
    """Raise StepFailure when fewer bytes are free than needed."""
    free = free_host_bytes()
    if limit is not None:
        free = min(free, limit)
    if needed > free:
        raise failures.no_host_memory(needed, free, what)


def calibration_bytes(
    spec: Spec, checkpoint: Checkpoint, dtype: torch.dtype, batch_tokens: int
) -> int:
    return arithmetic.calibration_bytes(
        spec, checkpoint.facts, number_bytes=dtype.itemsize, batch_tokens=batch_tokens
    )


def comparison_bytes(
    spec: Spec, checkpoint: Checkpoint, dtype: torch.dtype, batch_tokens: int
) -> int:
    return arithmetic.comparison_bytes(
        spec, checkpoint.facts, number_bytes=dtype.itemsize, batch_tokens=batch_tokens
    )


def free_host_bytes() -> int:
    """Return the bytes that a process may still take, a container's limit included."""
    free = int(psutil.virtual_memory().available)
    try:
        limit = (_CGROUP / "memory.max").read_text().strip()
        if limit != "max":
            free = min(free, int(limit) - int((_CGROUP / "memory.current").read_text()))
    except (OSError, ValueError):
        return free
    return max(free, 0)


def peak_host_bytes() -> int:
    # Not `getrusage`: its count begins with what the parent held.
    return memory_of(os.getpid()).get("VmHWM", 0)


def peak_device_bytes() -> int | None:
    """Return the most that torch held on all GPUs together, or None without a GPU."""
    if not torch.cuda.is_available():
        return None
    devices = range(torch.cuda.device_count())
    return sum(int(torch.cuda.max_memory_allocated(device)) for device in devices)
