"""Which settings of a family shape its parameters, and configs in which they all differ."""

import random
from collections.abc import Callable, Sequence
from typing import Any

from tests.model_classes.making import Made, Values, make

_NOT_SIZES = (
    "token", "dropout", "pad_", "bos", "eos", "seed", "return", "use_cache", "begin", "min_",
    "chunk_size_feed", "max_length", "forced", "top_k", "num_beams", "version",
)  # fmt: skip
_FEW = ("layer", "expert", "depth", "block", "stage")
_OF_THE_FIRST = ("first_k", "dense_layers", "start_index", "mem_blocks")
"""Layers at the front, never more than there are."""
_TRIES = 5

Maker = Callable[[Values], Made]


def maker(model_type: str, class_name: str) -> Maker:
    """Return what makes this class of changed defaults."""
    return lambda values: make(model_type, class_name, values)


def attempt(made: Maker, values: Values) -> Made | None:
    """Return the class of these values, or None where it cannot be made of them."""
    try:
        return made(values)
    except Exception:  # as many kinds as there are classes
        return None


def small(made: Maker, given: Values) -> dict[str, Any]:
    """Return values by which the class has few layers and experts, where it takes them."""
    values: dict[str, Any] = dict(given)
    for name, value in made(given).config_values.items():
        if _is_size(name, value) and value > 8 and any(word in name for word in _FEW):
            for fewer in (6, 8, value // 2):
                if attempt(made, {**values, name: fewer}) is not None:
                    values[name] = fewer
                    break
    return _pinned(made, values)


def _pinned(made: Maker, values: Values) -> dict[str, Any]:
    """Return the values with every size said, so that none follows from another."""
    first = made(values)
    sizes = {name: each for name, each in first.config_values.items() if _is_size(name, each)}
    again = attempt(made, {**values, **sizes})
    same = again is not None and again.signature == first.signature
    return {**values, **sizes} if same else dict(values)


def shaping(made: Maker, start: Values) -> dict[str, Made]:
    """Return the settings that each by itself change the parameters, and what they make of them."""
    first = made(start)
    values = {}
    for name, value in first.config_values.items():
        if isinstance(value, bool):
            others: Sequence[Any] = (not value,)
        elif _is_size(name, value):
            others = (2 * value, value // 2, value + 1, value + 2)
        else:
            continue
        for other in others:
            changed = attempt(made, {**start, name: other})
            if changed is not None and changed.config_values.get(name) == other:
                if changed.signature != first.signature:
                    values[name] = changed
                break
    return values


def unsaid_that_shape(made: Maker, start: Values) -> list[str]:
    """Return the settings that are null and would change the parameters if they were a number."""
    first = made(start)
    entries = []
    for name, value in first.config_values.items():
        is_unset = value is None or (
            isinstance(value, int) and value in (0, -1) and value is not False
        )
        if is_unset and not any(word in name for word in _NOT_SIZES):
            tried = (attempt(made, {**start, name: each}) for each in (16, 2))
            changed = next((each for each in tried if each is not None), None)
            if changed is not None and changed.signature != first.signature:
                entries.append(name)
    return entries


def variants(
    made: Maker, start: Values, names: Sequence[str], wanted: int, seed: int
) -> list[Made]:
    """Return so many classes, each with these settings at random values as far as it takes them."""
    chance = random.Random(seed)
    first = made(start)
    flags = {
        name: chance.sample([n % 2 == 0 for n in range(wanted)], wanted)
        for name in names
        if isinstance(first.config_values.get(name), bool)
    }
    return [
        _variant(made, start, first, names, {name: each[n] for name, each in flags.items()}, chance)
        for n in range(wanted)
    ]


def _variant(
    made: Maker, start: Values, first: Made, names: Sequence[str], flags: Values,
    chance: random.Random,
) -> Made:  # fmt: skip
    sizes = [name for name in names if name not in flags]
    for _ in range(_TRIES):
        together = {name: _other(name, first.config_values[name], chance) for name in sizes}
        outcome = attempt(made, {**start, **together, **flags})
        if outcome is not None and all(
            outcome.config_values.get(name) == value for name, value in together.items()
        ):
            return outcome
    values, now = dict(start), first
    for name in (*flags, *chance.sample(sizes, len(sizes))):
        for _ in range(1 if name in flags else _TRIES):
            other = (
                flags[name] if name in flags else _other(name, now.config_values.get(name), chance)
            )
            changed = attempt(made, {**values, name: other})
            if changed is not None and changed.config_values.get(name) == other:
                values[name], now = other, changed
                break
    return now


def _other(name: str, value: Any, chance: random.Random) -> int:
    if any(word in name for word in _OF_THE_FIRST):
        return chance.randint(1, 2)
    if "expert" in name and "shared" not in name and value and 1 < value <= 10:
        return chance.randint(2, 12)
    if "head" in name and "dim" not in name and value and value > 1:
        return chance.choice((1, 2, 4, 8, 16))
    if "layers" in name and value and value <= 10:
        return chance.randint(3, 12)
    if not isinstance(value, int) or value <= 10:
        return chance.randint(1, 12)
    if value < 64 or value % 4:
        return value * chance.randint(1, 6)
    return value // 4 * chance.randint(3, 31)


def _is_size(name: str, value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        return False
    last = name.rsplit(".", 1)[-1]
    return not any(word in last for word in _NOT_SIZES)
