"""GPUs as NVIDIA's management library sees them; none where the library or the driver is absent."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from controlplane.domain.device_users import DeviceUser
from workers.agent.device_users import device_user

try:
    import pynvml
except ImportError:
    pynvml = None

_KINDS = (
    ("RTX PRO 6000", "RTX_PRO_6000"), ("GB300", "GB300"), ("B300", "B300"), ("B200", "B200"),
    ("H200", "H200"), ("H100", "H100"), ("A100", "A100"), ("L40S", "L40S"), ("A10G", "A10G"),
    ("V100", "V100"), ("L4", "L4"), ("T4", "T4"),
)  # fmt: skip
"""Part of the product name -> GPU kind, the longer names first."""
_SLICE = re.compile(r"\s*\bMIG (\d+g\.\d+gb)")
_SLICES = {("H100", "3g.40gb"): "H100_40GB"}
"""GPU and profile of a slice -> the kind under which configs ask for it."""
FIRST_SLICE_INDEX, SLICE_INDEXES = 100, 10
"""Slice 2 of GPU 1 has the index 112: a number of its own, behind those of whole GPUs."""
_MOST_USERS = 16
_A100_SMALL_BYTES = 48 * 1024**3
_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class DeviceUse:
    """The processes on a GPU, and the bytes taken, whoever took them."""

    used_bytes: int
    users: tuple[DeviceUser, ...] = ()


def is_there() -> bool:
    with _library() as library:
        return library


def devices() -> list[dict[str, Any]]:
    with _library() as is_there:
        if not is_there:
            return []
        try:
            count = pynvml.nvmlDeviceGetCount()
        except pynvml.NVMLError as error:
            _warn_once(f"the GPUs cannot be counted: {error}")
            return []
        return [device for index in range(count) for device in _answering_devices(index)]


def use_of(uuid: str) -> DeviceUse:
    """Return who computes on a GPU and what is taken of it. Raises LookupError where it is lost."""
    with _library() as is_there:
        if not is_there:
            raise LookupError(f"NVIDIA's library does not answer for `{uuid}`")
        try:
            handle = pynvml.nvmlDeviceGetHandleByUUID(uuid)
            users = _users(handle)
            memory = pynvml.nvmlDeviceGetMemoryInfo(handle)
        except pynvml.NVMLError as error:
            raise LookupError(f"`{uuid}` does not answer: {error}") from error
        return DeviceUse(used_bytes=memory.used, users=users)


def kind_of(product_name: str, memory_bytes: int) -> str:
    """Return our name for a product; an unknown one keeps its own, without spaces."""
    if match := _SLICE.search(product_name):
        return _kind_of_slice(product_name, match)
    for part, kind in _KINDS:
        if part in product_name:
            is_small = kind == "A100" and memory_bytes < _A100_SMALL_BYTES
            return "A100_40GB" if is_small else kind
    return product_name.replace(" ", "_")[:32]


def _kind_of_slice(product_name: str, match: re.Match[str]) -> str:
    """Return the kind that configs ask for, else one by the GPU and the profile of the slice."""
    whole = kind_of(product_name[: match.start()], 2 * _A100_SMALL_BYTES)
    if (whole, match[1]) in _SLICES:
        return _SLICES[whole, match[1]]
    return f"{whole}_MIG_{match[1].replace('.', '_')}"[:32]


@contextmanager
def _library() -> Iterator[bool]:
    if pynvml is None:
        yield False
        return
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:  # no driver, or no GPU
        yield False
        return
    try:
        yield True
    finally:
        with suppress(pynvml.NVMLError):  # a lost driver has nothing to give back
            pynvml.nvmlShutdown()


def _answering_devices(index: int) -> list[dict[str, Any]]:
    """Return the GPU, or the slices that it is split into.

    Nothing where it is lost, so that the control plane counts it as absent.
    """
    try:
        whole = pynvml.nvmlDeviceGetHandleByIndex(index)
        return _slices(index, whole) if _is_split(whole) else [_device(index, whole)]
    except pynvml.NVMLError as error:
        _warn_once(f"GPU {index} does not answer and is left out: {error}")
        return []


def _is_split(whole: Any) -> bool:
    """Return whether nothing computes on the GPU but in its slices (MIG)."""
    try:
        current, _ = pynvml.nvmlDeviceGetMigMode(whole)
    except pynvml.NVMLError:  # a kind that cannot be split
        return False
    return bool(current)


def _slices(index: int, whole: Any) -> list[dict[str, Any]]:
    """Return the slices that answer; one that does not hides no other."""
    most = pynvml.nvmlDeviceGetMaxMigDeviceCount(whole)
    numbered = [each for number in range(most) if (each := _slice(index, whole, number))]
    if not numbered:
        _warn_once(
            f"GPU {index} is split (MIG) and none of its slices answers: nothing runs there until "
            "`nvidia-smi mig -cgi … -C` makes some, or `nvidia-smi -mig 0` ends the split"
        )
    return numbered


def _slice(index: int, whole: Any, number: int) -> dict[str, Any] | None:
    try:
        handle = pynvml.nvmlDeviceGetMigDeviceHandleByIndex(whole, number)
        return _device(FIRST_SLICE_INDEX + SLICE_INDEXES * index + number, handle)
    except pynvml.NVMLError as error:
        if getattr(error, "value", None) != pynvml.NVML_ERROR_NOT_FOUND:  # fewer than the most
            _warn_once(f"slice {number} of GPU {index} does not answer and is left out: {error}")
        return None


def _device(index: int, handle: Any) -> dict[str, Any]:
    memory = pynvml.nvmlDeviceGetMemoryInfo(handle)
    name = _text(pynvml.nvmlDeviceGetName(handle))
    users = _reported_users(handle)
    return {
        "index": index,
        "uuid": _text(pynvml.nvmlDeviceGetUUID(handle)),
        "kind": kind_of(name, memory.total),
        "memory_bytes": memory.total,
        "name": name[:128],
        "used_bytes": memory.used,
        "utilization_percent": _utilization(handle),
        "power_watts": _power_watts(handle),
        "clean": users is not None and not any(each.is_foreign for each in users),
        "used_by": [each.to_json() for each in (users or ())[:_MOST_USERS]],
    }


def _utilization(handle: Any) -> float | None:
    try:
        return float(pynvml.nvmlDeviceGetUtilizationRates(handle).gpu)
    except pynvml.NVMLError:  # a GPU that is split by MIG has none
        return None


def _power_watts(handle: Any) -> float | None:
    try:
        return round(float(pynvml.nvmlDeviceGetPowerUsage(handle)) / 1000)
    except pynvml.NVMLError:  # a slice has none of its own, and some kinds do not tell
        return None


def _reported_users(handle: Any) -> tuple[DeviceUser, ...] | None:
    """Return who is on the GPU; None where it does not tell."""
    try:
        return _users(handle)
    except pynvml.NVMLError:
        return None


def _users(handle: Any) -> tuple[DeviceUser, ...]:
    processes = pynvml.nvmlDeviceGetComputeRunningProcesses(handle)
    return tuple(device_user(each.pid, each.usedGpuMemory) for each in processes)


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


@lru_cache(maxsize=64)
def _warn_once(sentence: str) -> None:
    # GPUs are looked at with every report: the same line every few seconds would tell nothing.
    _log.warning("%s", sentence)
