"""Proof that leased GPUs are free before an engine starts on them."""

import logging
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from controlplane.domain.failures import Failure
from workers.agent import nvidia
from workers.agent.failures import card_lost, card_memory_held, card_taken

WAIT_SECONDS = 30.0
IDLE_BYTES = 2 * 1024**3
"""What a driver may hold of a GPU that nobody uses: 0.6 GiB on an H100, more with many contexts."""
_CPU_PREFIX = "CPU-"
_PAUSE_SECONDS = 0.5
_log = logging.getLogger(__name__)


class CardsTaken(Exception):
    """A leased GPU is not free; `failure` says who or what holds it."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.sentence)
        self.failure = failure


def visible_cards(uuids: Sequence[str]) -> Mapping[str, str]:
    """Return the environment that shows an engine its leased GPUs and hides all others."""
    return {"CUDA_VISIBLE_DEVICES": ",".join(_gpus(uuids))}


def wait_until_clean(uuids: Sequence[str], *, seconds: float = WAIT_SECONDS) -> None:
    """Return once every GPU of the list is free; a former engine may still give memory back.

    Raises CardsTaken when one is not within `seconds`.
    """
    deadline = time.monotonic() + seconds
    for uuid in _gpus(uuids):
        while (found := _what_holds(uuid)) is not None:
            if time.monotonic() > deadline:
                raise CardsTaken(found)
            time.sleep(_PAUSE_SECONDS)
        _log.info("Card %s is free.", uuid)


def _gpus(uuids: Sequence[str]) -> list[str]:
    return [uuid for uuid in uuids if not uuid.startswith(_CPU_PREFIX)]


def _what_holds(uuid: str) -> Failure | None:
    try:
        use = nvidia.use_of(uuid)
    except LookupError as error:
        return card_lost(str(error))
    if use.foreign or use.ours:
        names = [f"{_name(pid)} (process {pid})" for pid in use.foreign or use.ours]
        return card_taken(uuid, names, is_foreign=bool(use.foreign))
    return card_memory_held(uuid, use.used_bytes) if use.used_bytes > IDLE_BYTES else None


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return "a process that has ended or is hidden"
