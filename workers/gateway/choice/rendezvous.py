"""Rendezvous hashing: processes that know the same replicas choose the same, without a word."""

from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b
from typing import Protocol, TypeVar

_MASK = 2**64 - 1


class Placed(Protocol):
    @property
    def address(self) -> str: ...


Candidate = TypeVar("Candidate", bound=Placed)


def highest(places: Iterable[Candidate], number: int) -> Candidate:
    """Return the place of the number: when one comes or goes, only its own numbers move."""
    return max(places, key=lambda each: _mixed(number ^ _of(each.address)))


def number_of(*words: str) -> int:
    """Return a number that every process has for these words."""
    return int.from_bytes(blake2b("\0".join(words).encode(), digest_size=8).digest())


@lru_cache(maxsize=8192)
def _of(address: str) -> int:
    return number_of(address)


def _mixed(number: int) -> int:
    """Return the number's bits mixed. Source: splitmix64's last steps, Steele and others, 2014."""
    number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) & _MASK
    return number ^ (number >> 31)
