"""Proof that leased GPUs are free before an engine starts on them."""

import logging
from collections.abc import Mapping, Sequence

from controlplane.clock import SYSTEM, Clock
from controlplane.domain.facts.gpus import IDLE_BYTES
from controlplane.domain.failures import Failure
from controlplane.domain.failures.raised import RaisedFailure
from controlplane.domain.failures.registry import serving
from workers.agent import nvidia
from workers.agent.failures import device_memory_held, device_taken

WAIT_SECONDS = 10.0
"""For a former engine to end and give its memory back; whatever lasts longer is told."""
_CPU_PREFIX = "CPU-"
_PAUSE_SECONDS = 0.5
_log = logging.getLogger(__name__)


class DevicesTaken(RaisedFailure):
    """A leased GPU is not free; `failure` says who or what holds it."""


def visible_devices(uuids: Sequence[str]) -> Mapping[str, str]:
    return {"CUDA_VISIBLE_DEVICES": ",".join(_gpus(uuids))}


def wait_until_clean(uuids: Sequence[str], *, clock: Clock = SYSTEM) -> None:
    """Return once every GPU of the list is free; a former engine may still give memory back.

    Raises DevicesTaken when one is not within WAIT_SECONDS.
    """
    deadline = clock.monotonic() + WAIT_SECONDS
    last_logged = ""
    while (holder := what_holds(uuids)) is not None:
        if clock.monotonic() > deadline:
            raise DevicesTaken(holder)
        if holder.sentence != last_logged:
            _log.info("Waiting: %s", last_logged := holder.sentence)
        clock.sleep(_PAUSE_SECONDS)
    for uuid in _gpus(uuids):
        _log.info("GPU %s is free.", uuid)


def what_holds(uuids: Sequence[str]) -> Failure | None:
    holders = (_what_holds(uuid) for uuid in _gpus(uuids))
    return next((each for each in holders if each is not None), None)


def _gpus(uuids: Sequence[str]) -> list[str]:
    return [uuid for uuid in uuids if not uuid.startswith(_CPU_PREFIX)]


def _what_holds(uuid: str) -> Failure | None:
    try:
        use = nvidia.use_of(uuid)
    except LookupError as error:
        return serving.GPU_LOST.failure(reason=str(error))
    if use.users:
        return device_taken(uuid, use.users)
    return device_memory_held(uuid, use.used_bytes) if use.used_bytes > IDLE_BYTES else None
