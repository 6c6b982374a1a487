"""Float32 numbers as JSON text, many at once: without Python's lock, which other requests need."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from pydantic_core import to_json

Numbers = NDArray[np.float32]

DIGITS = 9
"""So many tell every float32 from its neighbours."""
_LEAST, _MOST = 10 ** (DIGITS - 1), 10**DIGITS
_LOWEST, _HIGHEST = -46, 39
"""Exponents of ten that a float32 can have, and one more on either side."""
_BYTES = 16
"""Of one number: sign, a digit, the point, eight digits, the exponent in four bytes, a comma."""

_POWERS = 10.0 ** np.arange(DIGITS - 1 - _LOWEST, DIGITS - 2 - _HIGHEST, -1)
"""By which a number of each exponent becomes one of nine digits."""


def write_rows(rows: Sequence[Numbers]) -> Iterator[bytes]:
    """Give back each row as a JSON array; the rows have one length, and at least one number."""
    numbers = np.stack(rows)
    if not np.isfinite(numbers).all():
        yield from (to_json(row) for row in numbers.tolist())
        return
    for text in _written(numbers.reshape(-1)).reshape(len(rows), -1):
        yield b"[%b]" % text[:-1].tobytes()


def _words(texts: Sequence[str]) -> NDArray[np.uint64]:
    """Texts of up to eight bytes as numbers that are put together by shifts."""
    return np.array([int.from_bytes(each.encode(), "little") for each in texts], np.uint64)


_HEADS = _words([f"{sign}{digit}." for sign in " -" for digit in range(10)])
_FOURS = _words([f"{digits:04}" for digits in range(10_000)])
_8, _24, _56 = np.uint64(8), np.uint64(24), np.uint64(56)
_TAILS = _words([f"e{exponent:+03}," for exponent in range(_LOWEST, _HIGHEST)]) << _24


def _written(numbers: Numbers) -> NDArray[np.uint8]:
    """All numbers, one behind the other, each in scientific notation with a comma after it."""
    digits, powers = _scientific(np.abs(numbers))
    rest, lower = _divided(digits, 10**4)
    first, upper = _divided(rest, 10**4)
    heads = _HEADS.take(first.astype(np.intp) + 10 * np.signbit(numbers))
    lower_text = _FOURS.take(lower)
    words = np.empty((len(numbers), 2), "<u8")
    words[:, 0] = heads | (_FOURS.take(upper) << _24) | (lower_text << _56)
    words[:, 1] = (lower_text >> _8) | _TAILS.take(powers)
    return words.view(np.uint8).reshape(-1)


def _scientific(sizes: Numbers) -> tuple[NDArray[np.uint32], NDArray[np.intp]]:
    """Nine digits of each number, and the place of its exponent of ten in the tables."""
    some = np.where(sizes == 0, np.float32(1), sizes)
    powers = np.floor(np.log10(some)).astype(np.intp) - _LOWEST
    some = some.astype(np.float64)
    digits = np.rint(some * _POWERS.take(powers))
    # A logarithm beside a whole number may be taken for it, and nines are rounded to a one.
    if (is_off := (digits >= _MOST) | (digits < _LEAST)).any():
        powers += is_off * np.where(digits >= _MOST, 1, -1)
        digits = np.rint(some * _POWERS.take(powers))
    return np.where(sizes == 0, 0, digits).astype(np.uint32), powers


def _divided(digits: NDArray[np.uint32], by: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Quotient and rest; NumPy divides by one number faster than it finds both."""
    quotient = digits // np.uint32(by)
    return quotient, digits - quotient * np.uint32(by)
