"""GPUs as NVIDIA's management library sees them; none where the library or the driver is absent."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from workers.agent.folders import LEASE_VARIABLE

try:
    import pynvml
except ImportError:
    pynvml = None

_KINDS = (
    ("RTX PRO 6000", "RTX_PRO_6000"), ("GB300", "GB300"), ("B300", "B300"), ("B200", "B200"),
    ("H200", "H200"), ("H100", "H100"), ("A100", "A100"), ("L40S", "L40S"), ("A10G", "A10G"),
    ("V100", "V100"), ("L4", "L4"), ("T4", "T4"),
)  # fmt: skip
"""Part of the product name -> card kind, the longer names first."""
_A100_SMALL_BYTES = 48 * 1024**3


def cards() -> list[dict[str, Any]]:
    """Return every GPU with what is used of it now."""
    with _library() as is_there:
        if not is_there:
            return []
        return [_card(index) for index in range(pynvml.nvmlDeviceGetCount())]


def kind_of(product_name: str, memory_bytes: int) -> str:
    """Return our name for a product; an unknown one keeps its own, without spaces."""
    for part, kind in _KINDS:
        if part in product_name:
            is_small = kind == "A100" and memory_bytes < _A100_SMALL_BYTES
            return "A100_40GB" if is_small else kind
    return product_name.replace(" ", "_")[:32]


@contextmanager
def _library() -> Iterator[bool]:
    if pynvml is None:
        yield False
        return
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:  # no driver, or no card
        yield False
        return
    try:
        yield True
    finally:
        pynvml.nvmlShutdown()


def _card(index: int) -> dict[str, Any]:
    handle = pynvml.nvmlDeviceGetHandleByIndex(index)
    memory = pynvml.nvmlDeviceGetMemoryInfo(handle)
    name = _text(pynvml.nvmlDeviceGetName(handle))
    return {
        "index": index,
        "uuid": _text(pynvml.nvmlDeviceGetUUID(handle)),
        "kind": kind_of(name, memory.total),
        "memory_bytes": memory.total,
        "name": name[:128],
        "used_bytes": memory.used,
        "utilization_percent": float(pynvml.nvmlDeviceGetUtilizationRates(handle).gpu),
        "clean": all(_is_ours(each.pid) for each in _processes(handle)),
    }


def _processes(handle: Any) -> list[Any]:
    found: list[Any] = pynvml.nvmlDeviceGetComputeRunningProcesses(handle)
    return found


def _is_ours(pid: int) -> bool:
    try:
        return f"{LEASE_VARIABLE}=".encode() in Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
