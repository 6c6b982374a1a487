"""Finds what a column of numbers is in terms of others: sums of few products."""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, combinations_with_replacement
from math import gcd

Column = tuple[int, ...]
Monomial = tuple[tuple[str, int], ...]
"""Names with their powers, sorted."""
Polynomial = dict[Monomial, Fraction]

_COEFFICIENTS = (1, 2, -1, -2, 3, 4)
_LARGEST = 64
_MOST_FACTORS = 14
_SPARE_ROWS = 2
"""By which a combination is proved beyond being solved."""
ONE: Monomial = ()


class Finder:
    """Knows columns by name and finds a polynomial of them for another column."""

    def __init__(self, columns: Mapping[str, Column], *, rows: int) -> None:
        self._rows = rows
        self._columns = {name: column for name, column in _distinct(columns).items() if any(column)}
        self._simple = self._monomials(2)
        self._by_shape: dict[Column, tuple[Monomial, Column]] = {}
        for monomial, column in (*self._simple.items(), *self._quotients()):
            self._by_shape.setdefault(_normal(column), (monomial, column))

    def find(self, wanted: Column, among: Iterable[str] = ()) -> Polynomial | None:
        """Return a polynomial that is `wanted` in every row, or None; `among` are likely names."""
        if not any(wanted):
            return {}
        near = [name for name in self._columns if name.split("=")[0].strip("!#+") in set(among)]
        return (
            self._alone(wanted)
            or self._solved(wanted, near)
            or self._sum_of_two(wanted)
            or self._product(wanted, near)
        )

    def _alone(self, wanted: Column) -> Polynomial | None:
        answer = self._by_shape.get(_normal(wanted))
        if answer is None:
            return None
        monomial, column = answer
        ratio = next(Fraction(a, b) for a, b in zip(wanted, column, strict=True) if b)
        is_small = abs(ratio.numerator) <= _LARGEST or monomial == ONE
        return {monomial: ratio} if is_small and ratio.denominator <= _LARGEST else None

    def _solved(self, wanted: Column, near: Sequence[str]) -> Polynomial | None:
        """Return the one combination of products of these names that it is, degree by degree."""
        for degree in (1, 2, 3):
            products = {
                _powers(names): tuple(
                    map(_times, zip(*(self._columns[n] for n in names), strict=True))
                )
                for size in range(1, degree + 1)
                for names in combinations(near, size)
            }
            columns = {ONE: (1,) * self._rows, **products}
            if len(columns) > self._rows - _SPARE_ROWS:
                return None
            if (combination := _combination(columns, wanted)) is not None:
                return combination
        return None

    def _sum_of_two(self, wanted: Column) -> Polynomial | None:
        for monomial, column in self._simple.items():
            for factor in _COEFFICIENTS:
                left = tuple(a - factor * b for a, b in zip(wanted, column, strict=True))
                if any(left) and (outcome := self._alone(left)):
                    return add({monomial: Fraction(factor)}, outcome)
        return None

    def _product(self, wanted: Column, near: Sequence[str]) -> Polynomial | None:
        """Return the product of three of these names that it is, as of a patch's numbers."""
        shape = _normal(wanted)
        for names in combinations_with_replacement(near, 3) if len(near) <= _MOST_FACTORS else ():
            column = tuple(map(_times, zip(*(self._columns[n] for n in names), strict=True)))
            if any(column) and _normal(column) == shape:
                ratio = next(Fraction(a, b) for a, b in zip(wanted, column, strict=True) if b)
                if max(abs(ratio.numerator), ratio.denominator) <= _LARGEST:
                    return {_powers(names): ratio}
        return None

    def _monomials(self, degree: int) -> dict[Monomial, Column]:
        values: dict[Monomial, Column] = {ONE: (1,) * self._rows}
        for size in range(1, degree + 1):
            for names in combinations_with_replacement(self._columns, size):
                column = tuple(
                    map(_times, zip(*(self._columns[name] for name in names), strict=True))
                )
                if any(column):
                    values[_powers(names)] = column
        return values

    def _quotients(self) -> Iterable[tuple[Monomial, Column]]:
        for monomial, column in self._simple.items():
            for name, below in self._columns.items():
                if all(below) and all(a % b == 0 for a, b in zip(column, below, strict=True)):
                    yield (
                        times({monomial: Fraction(1)}, {((name, -1),): Fraction(1)}).popitem()[0],
                        tuple(a // b for a, b in zip(column, below, strict=True)),
                    )


def add(*parts: Polynomial) -> Polynomial:
    """Return the sum, without what cancels."""
    total: Polynomial = {}
    for part in parts:
        for monomial, factor in part.items():
            total[monomial] = total.get(monomial, Fraction(0)) + factor
    return {monomial: factor for monomial, factor in total.items() if factor}


def times(*parts: Polynomial) -> Polynomial:
    """Return the product."""
    total: Polynomial = {ONE: Fraction(1)}
    for part in parts:
        total = add(*({_merged(a, b): x * y} for a, x in total.items() for b, y in part.items()))
    return total


def _merged(a: Monomial, b: Monomial) -> Monomial:
    powers = dict(a)
    for name, power in b:
        powers[name] = powers.get(name, 0) + power
    return tuple(sorted((name, power) for name, power in powers.items() if power))


def _powers(names: Sequence[str]) -> Monomial:
    return tuple(sorted((name, names.count(name)) for name in set(names)))


def _times(values: Sequence[int]) -> int:
    total = 1
    for each in values:
        total *= each
    return total


def _normal(column: Column) -> Column:
    divisor = gcd(*column) or 1
    sign = -1 if next((each for each in column if each), 1) < 0 else 1
    return tuple(sign * each // divisor for each in column)


def _distinct(columns: Mapping[str, Column]) -> dict[str, Column]:
    """Return the columns without those that another one is, or that never change."""
    values: dict[str, Column] = {}
    for name, column in columns.items():
        if len(set(column)) > 1 and column not in values.values():
            values[name] = column
    return values


def _combination(columns: Mapping[Monomial, Column], wanted: Column) -> Polynomial | None:
    """Return the factors by which columns add up to `wanted`, None if there are not just these."""
    names = list(columns)
    rows = [
        [Fraction(columns[name][i]) for name in names] + [Fraction(each)]
        for i, each in enumerate(wanted)
    ]
    for place in range(len(names)):
        pivot = next((row for row in rows[place:] if row[place]), None)
        if pivot is None:
            return None
        rows.remove(pivot)
        pivot = [each / pivot[place] for each in pivot]
        rows = [
            [a - row[place] * b for a, b in zip(row, pivot, strict=True)] if row[place] else row
            for row in rows
        ]
        rows.insert(place, pivot)
    if any(row[-1] for row in rows[len(names) :]):
        return None
    by_name = {name: rows[i][-1] for i, name in enumerate(names) if rows[i][-1]}
    return by_name if all(each.denominator <= _LARGEST for each in by_name.values()) else None
