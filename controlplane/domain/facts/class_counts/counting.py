"""Counts the parameters of a class that transformers has, from a table that it was asked for."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from controlplane.domain.dotted import value_at
from controlplane.domain.facts import config_numbers as numbers
from controlplane.domain.facts.class_counts.row import Row
from controlplane.domain.facts.class_counts.rows import ROWS
from controlplane.domain.facts.config_numbers import Config
from controlplane.domain.facts.layer_pattern import MOST_LAYERS
from controlplane.domain.facts.shape import Shape

Counts = Mapping[str, int]
_LABELS = "num_labels"
_OF_TWO: Mapping[str, Callable[[int, int], int]] = MappingProxyType({
    "<>": lambda first, second: int(first != second),
    "//": lambda first, second: first // second if second else 0,
    ">": lambda first, second: int(first > second),
})  # fmt: skip
_FOLLOWS = ("head_dim", "kv_heads", "intermediate_size")
"""Sizes that files leave out because they follow from others."""


def count_class(architecture: str | None, shape: Shape) -> Counts | None:
    """Return the parameters by part, or None where no form of the class is that of this file."""
    for row in ROWS.get(architecture or "", ()):
        if _is_form(row, shape.config) and (counts := _counted(row, shape)) is not None:
            return counts
    return None


def _is_form(row: Row, config: Config) -> bool:
    return not any(_is_set(config, name) for name in row.unset) and all(
        _is_set(config, name) for name in row.said
    )


def _is_set(config: Config, name: str) -> bool:
    value = value_at(config, name)
    return value is not None and value is not False and value not in (0, -1)


def _counted(row: Row, shape: Shape) -> Counts | None:
    known: dict[str, int] = {}
    for name in row.settings:
        value = _value(name, row, shape)
        if value is None:
            return None
        known[name] = value
    counts = {}
    for part, sums in row.sums.items():
        total = Fraction(0)
        for numerator, denominator, powers in sums:
            term = Fraction(numerator, denominator)
            for name, power in powers:
                if not known[name] and power < 0:
                    return None
                term *= Fraction(known[name]) ** power
            total += term
        counts[part] = int(total)
    return counts if all(each >= 0 for each in counts.values()) else None


def _value(name: str, row: Row, shape: Shape) -> int | None:
    if name.startswith("!"):
        flag = _value(name[1:], row, shape)
        return None if flag is None else 1 - min(flag, 1)
    for between, combine in _OF_TWO.items():
        first, separator, second = name.partition(between)
        if separator:
            return _combined(combine, (first, second), row, shape)
    setting, sign, word = _parted(name)
    if sign == "@":
        return _of_cycle(value_at(shape.config, setting), word, shape.layers)
    if sign:
        return _of_list(value_at(shape.config, setting), sign, word)
    if setting == _LABELS:
        return _labels(shape.config)
    given = value_at(shape.config, setting)
    if isinstance(given, bool):
        return int(given)
    size = numbers.whole(given)
    if size is None and "." not in setting:
        size = _otherwise(setting, shape)
    return row.defaults.get(setting) if size is None and given != 0 else size or 0


def _combined(
    combine: Callable[[int, int], int], names: tuple[str, str], row: Row, shape: Shape
) -> int | None:
    first, second = (int(name) if name.isdigit() else _value(name, row, shape) for name in names)
    return None if first is None or second is None else combine(first, second)


def _of_cycle(value: Any, word: str, layers: int | None) -> int | None:
    if not isinstance(value, list | tuple) or not layers or layers > MOST_LAYERS:
        return None
    return (list(value) * layers)[:layers].count(word)


def _parted(name: str) -> tuple[str, str, str]:
    for sign in "=@":
        setting, separator, word = name.partition(sign)
        if separator:
            return setting, sign, word
    return (name[:-1], name[-1], "") if name[-1] in "#+" else (name, "", "")


def _of_list(value: Any, sign: str, word: str) -> int | None:
    if not isinstance(value, list | tuple):
        return None
    if sign == "=":
        return sum(1 for each in value if each == word)
    if sign == "#":
        return len(value)
    return sum(each for each in value if isinstance(each, int))


def _otherwise(setting: str, shape: Shape) -> int | None:
    for meaning in numbers.meanings(setting):
        if (number := numbers.number(shape.config, meaning)) is not None:
            return number
        if meaning in _FOLLOWS and (follows := getattr(shape, meaning)) is not None:
            return int(follows)
    return None


def _labels(config: Config) -> int:
    labels = config.get("id2label")
    given = len(labels) if isinstance(labels, Mapping) and labels else None
    return given or numbers.first_number(config, _LABELS) or 2
