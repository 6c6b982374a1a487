"""Whether PyTorch ran out of a GPU's memory because others held most of it, by its own words."""

import re

from controlplane.domain.facts.gpus import IDLE_BYTES

TRIED = (
    r"CUDA out of memory\. Tried to allocate (?P<size>[\d.]+ [KMGT]?i?B|\d+ bytes)\."
    r" GPU (?P<device>\d+) has a total capacity of (?P<capacity>[\d.]+ [KMG]iB) of which "
    r"(?P<free>[\d.]+ \w+) is free\.[^\n]*?Of the allocated memory (?P<own>[\d.]+ \w+) is allocated"
    r" by PyTorch,(?:[^\n]*?,)? and (?P<reserved>[\d.]+ \w+) is reserved"
)
"""Its sentence, as far as it tells whose the memory is; the numbers of processes that it names are
those of another container where there is one."""
_TRIED = re.compile(TRIED)
_UNITS = {"bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


def is_held_by_others(match: re.Match[str]) -> bool:
    """Return whether more of the GPU is neither free nor the process's than a driver takes."""
    capacity, free, own, reserved = (
        _bytes(match[name]) for name in ("capacity", "free", "own", "reserved")
    )
    return capacity - free - own - reserved > IDLE_BYTES


def is_not_known_to_be_shared(match: re.Match[str]) -> bool:
    """Return whether the words that begin here leave open, or deny, that others hold the GPU."""
    tried = _TRIED.search(match.string, match.start())
    return tried is None or not is_held_by_others(tried)


def _bytes(size: str) -> float:
    number, _, unit = size.partition(" ")
    return float(number) * _UNITS.get(unit, 1)
