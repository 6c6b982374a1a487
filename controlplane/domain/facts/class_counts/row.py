"""One form of a class, and what its parameters come to in it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

Factors = tuple[int, int, tuple[tuple[str, int], ...]]
"""Numerator, denominator, and settings with their powers."""


@dataclass(frozen=True)
class Row:
    """A class as far as certain settings are null, and what each part of it has then.

    A sum is written as `3*hidden_size^2*num_hidden_layers + 1/2*hidden_size`. `!name` is one where
    the flag is off; `name=word`, `name#` and `name+` are how often a list holds a word, how long it
    is, and its sum; `name@word` is how often it does when repeated for all layers. `a<>b` and `a>1`
    are one where that holds, and `a//b` is rounded down.
    """

    parts: Mapping[str, str]
    unset: tuple[str, ...] = ()
    """Settings that are null, 0 or -1 here."""
    said: tuple[str, ...] = ()
    """Settings that are not."""
    defaults: Mapping[str, int | bool] = field(default_factory=lambda: MappingProxyType({}))
    """What the class takes where the file leaves a setting out."""

    @cached_property
    def sums(self) -> Mapping[str, tuple[Factors, ...]]:
        return {name: tuple(map(_factors, text.split(" + "))) for name, text in self.parts.items()}

    @property
    def settings(self) -> Iterator[str]:
        for sums in self.sums.values():
            for _, _, powers in sums:
                yield from (name for name, _ in powers)


def _factors(text: str) -> Factors:
    number, *names = text.split("*")
    numerator, _, denominator = number.partition("/")
    powers = (name.partition("^") for name in names if name)
    return int(numerator), int(denominator or 1), tuple((n, int(p or 1)) for n, _, p in powers)
