"""What the parameters of a class come to, in terms of its settings, by part of the model."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from controlplane.domain.facts.class_counts.parts import part_of
from tests.model_classes.expressions import Finder, Polynomial, add, times
from tests.model_classes.making import Made, Values, pattern
from tests.model_classes.varying import (
    Maker,
    shaping,
    small,
    unsaid_that_shape,
    variants,
)

FITTED_ON, HELD_BACK = 24, 4


@dataclass(frozen=True, kw_only=True)
class Fit:
    """The parameters of a class as polynomials of its settings, or why there are none."""

    start: dict[str, Any]
    shaping: list[str]
    unset: list[str]
    samples: list[Made]
    parts: dict[str, Polynomial] = field(default_factory=dict)
    missed: str = ""

    @property
    def total(self) -> Polynomial:
        return add(*self.parts.values())


def fit(made: Maker, *, given: Values, seed: int = 0) -> Fit:
    """Return what the class' parameters are, checked on configs that were not used for it."""
    start = small(made, given)
    shapes = shaping(made, start)
    samples = variants(made, start, list(shapes), FITTED_ON + HELD_BACK, seed)
    parts, missed = _parts(samples[:-HELD_BACK], list(shapes), _effects(made(start), shapes))
    outcome = Fit(
        start=start, shaping=list(shapes), unset=unsaid_that_shape(made, start), samples=samples,
        parts=parts, missed=missed,
    )  # fmt: skip
    if missed:
        return outcome
    total = outcome.total
    wrong = [
        each
        for each in (*samples[-HELD_BACK:], made(given))
        if value(total, atoms(each.config_values, outcome.shaping)) != each.parameters
    ]
    return replace(outcome, missed=f"{len(wrong)} of those held back") if wrong else outcome


def _effects(first: Made, changed: Mapping[str, Made]) -> dict[tuple[str, int], set[str]]:
    """Return, by pattern of name and axis (-1: how many), the settings that change it."""
    outcome: dict[tuple[str, int], set[str]] = defaultdict(set)
    for name, other in changed.items():
        for (key, _), (one, two) in _groups((first, other)).items():
            if one is None or two is None or one[0] != two[0]:
                outcome[key, -1].add(name)
            for axis, pair in enumerate(zip(one[1], two[1], strict=False) if one and two else ()):
                if pair[0] != pair[1]:
                    outcome[key, axis].add(name)
    return outcome


_UNLIKE = (("embedding_size", "hidden_size"), ("word_embed_proj_dim", "hidden_size"))
"""Sizes between which a class projects where they differ."""
_WHOLE_TIMES = (
    ("image_size", "patch_size"), ("input_size", "patch_size"),
    ("hidden_size", "num_hash_functions"), ("hidden_size", "channel_shrink_ratio"),
    ("intermediate_size", "channel_shrink_ratio"),
)  # fmt: skip
"""How often, rounded down, the second goes into the first."""
_MORE_THAN_ONE = ("n_langs",)


def atoms(values: Values, shapes: Sequence[str]) -> dict[str, int]:
    """Return the numbers that parameters may depend on: sizes, flags, and what lists hold."""
    outcome: dict[str, int] = {}
    for name, each in sorted(values.items(), key=lambda pair: isinstance(pair[1], list)):
        if name in shapes and isinstance(each, bool):
            outcome[name], outcome[f"!{name}"] = int(each), int(not each)
        elif name in shapes and isinstance(each, int):
            outcome[name] = each
        elif isinstance(each, list):
            outcome[f"{name}#"] = len(each)
            if all(isinstance(word, str) for word in each):
                for word, count in Counter(each).items():
                    outcome[f"{name}={word}"] = count
                layers = values.get("num_hidden_layers") or 0
                for word in {*each} if "block_types" in name else ():
                    outcome[f"{name}@{word}"] = (each * layers)[:layers].count(word)
            elif all(isinstance(word, int | bool) for word in each):
                outcome[f"{name}+"] = sum(map(int, each))
    return {**outcome, **_derived(outcome)}


def _derived(known: Mapping[str, int]) -> dict[str, int]:
    values = {}
    for name, size in known.items():
        prefix, _, last = name.rpartition(".")
        prefix = f"{prefix}." if prefix else ""
        for first, second in _UNLIKE:
            if last == first and (other := known.get(prefix + second)) is not None:
                values[f"{name}<>{prefix}{second}"] = int(size != other)
        for first, second in _WHOLE_TIMES:
            if last == first and (other := known.get(prefix + second)):
                values[f"{name}//{prefix}{second}"] = size // other
        if last in _MORE_THAN_ONE:
            values[f"{name}>1"] = int(size > 1)
    return values


def value(total: Polynomial, known: Mapping[str, int]) -> Fraction | None:
    """Return what a polynomial comes to; a word that a list does not hold counts as none."""
    result = Fraction(0)
    for monomial, factor in total.items():
        term = factor
        for name, power in monomial:
            if name not in known and not {"=", "@"} & set(name):
                return None
            if not (number := known.get(name, 0)) and power < 0:
                return None
            term *= Fraction(number) ** power
        result += term
    return result


def _parts(
    samples: Sequence[Made], shapes: Sequence[str], effects: Mapping[tuple[str, int], set[str]]
) -> tuple[dict[str, Polynomial], str]:
    tables = [atoms(each.config_values, shapes) for each in samples]
    names = list(dict.fromkeys(name for table in tables for name in table))
    columns = {name: tuple(table.get(name, 0) for table in tables) for name in names}
    parts: dict[str, list[Polynomial]] = defaultdict(list)
    finders: dict[tuple[int, ...], Finder] = {}
    for key, rows in _groups(samples).items():
        present = tuple(number for number, row in enumerate(rows) if row is not None)
        if len(present) < 5:
            return {}, f"{key[0]}: only in {len(present)} samples"
        everywhere = finders.setdefault(
            tuple(range(len(samples))), Finder(columns, rows=len(samples))
        )
        if present not in finders:
            finders[present] = Finder(
                {name: tuple(column[i] for i in present) for name, column in columns.items()},
                rows=len(present),
            )
        counts = everywhere.find(
            tuple(0 if row is None else row[0] for row in rows), effects.get((key[0], -1), ())
        )
        if counts is None:
            return {}, f"{key[0]}: how many: {[0 if row is None else row[0] for row in rows]}"
        product = counts
        ranks = {len(row[1]) for row in rows if row is not None}
        if len(ranks) > 1:
            return {}, f"{key[0]}: ranks {ranks}"
        for axis in range(ranks.pop()):
            column = tuple(rows[i][1][axis] for i in present)  # type: ignore[index]
            size = finders[present].find(column, effects.get((key[0], axis), ()))
            if size is None:
                return {}, f"{key[0]}[{axis}]: {column}"
            product = times(product, size)
        parts[part_of(key[0])].append(product)
    return {name: add(*outcome) for name, outcome in parts.items()}, ""


def _groups(
    samples: Sequence[Made],
) -> dict[tuple[str, int], list[tuple[int, tuple[int, ...]] | None]]:
    """Return, by pattern of name and rank of shape, how many of which shape each sample has."""
    values: dict[tuple[str, int], list[tuple[int, tuple[int, ...]] | None]] = {}
    for number, sample in enumerate(samples):
        seen: dict[str, Counter[tuple[int, ...]]] = defaultdict(Counter)
        for name, shape in sample.shapes.items():
            seen[pattern(name)][shape] += 1
        for name, counts in seen.items():
            for rank, (shape, count) in enumerate(counts.items()):
                values.setdefault((name, rank), [None] * len(samples))[number] = count, shape
    return values
