"""Matrices in `make test`: each row once and each column once; the other cells in test-long."""

from collections.abc import Iterable, Sequence
from typing import Any

import pytest


def each_in_turn(rows: Iterable[Any], columns: Sequence[Any]) -> list[Any]:
    """Return all pairs for `parametrize`, long but those of a row and the column in its turn."""
    return [
        pytest.param(row, column, marks=() if place == number % len(columns) else pytest.mark.long)
        for number, row in enumerate(rows)
        for place, column in enumerate(columns)
    ]
