"""Sketches: what is kept of many values so that any percentile can be told, and merged exactly.

DDSketch: a percentile is within 1 % of the value that it stands for, whatever the values, and two
sketches merged are the sketch of all their values. Datadog's library maps values to bins and back;
the bins are a dictionary, since its dense arrays cost ten times as much for the few values that
most buckets hold. A test holds percentiles to the library's own.

Bytes: format, zeros, first key, count, then each bin as steps from the key before and count; all
are varints.
"""

from ddsketch.mapping import LogarithmicMapping

RELATIVE_ERROR = 0.01
FORMAT = 1
_SMALLEST = 1e-9
"""What is below counts as zero: with it no sketch has more than some 2,000 bins."""
_MAPPING = LogarithmicMapping(RELATIVE_ERROR)


class UnknownFormat(ValueError):
    """The bytes are of a newer release."""


class Sketch:
    """Add values, or another sketch; `percentiles.merged_percentiles` reads what is stored."""

    __slots__ = ("bins", "zeros")

    def __init__(self) -> None:
        self.bins: dict[int, int] = {}
        self.zeros = 0

    @property
    def count(self) -> int:
        return self.zeros + sum(self.bins.values())

    def add(self, value: float) -> None:
        """Take in one value, which is not below zero."""
        if value < _SMALLEST:
            self.zeros += 1
        else:
            key = _MAPPING.key(value)
            self.bins[key] = self.bins.get(key, 0) + 1

    def merge(self, other: "Sketch") -> None:
        self.zeros += other.zeros
        bins = self.bins
        for key, count in other.bins.items():
            bins[key] = bins.get(key, 0) + count

    def take(self, content: bytes) -> None:
        """Add every value of a stored sketch. Raises UnknownFormat."""
        format, zeros, *numbers = _numbers(content)
        if format != FORMAT:
            raise UnknownFormat(f"a sketch of format {format}; this release reads {FORMAT}")
        self.zeros += zeros
        bins, key = self.bins, 0
        for place in range(0, len(numbers), 2):
            key = key + numbers[place] if place else _signed(numbers[place])
            bins[key] = bins.get(key, 0) + numbers[place + 1]

    def to_bytes(self) -> bytes:
        out = bytearray((FORMAT,))
        _write(out, self.zeros)
        before: int | None = None
        for key in sorted(self.bins):
            _write(out, _unsigned(key) if before is None else key - before)
            _write(out, self.bins[key])
            before = key
        return bytes(out)


def value_of(key: int) -> float:
    return float(_MAPPING.value(key))


def _write(out: bytearray, number: int) -> None:
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)


def _numbers(content: bytes) -> list[int]:
    numbers, number, shift = [], 0, 0
    for byte in content:
        if byte < 0x80:
            numbers.append(number | byte << shift)
            number = shift = 0
        else:
            number |= (byte & 0x7F) << shift
            shift += 7
    return numbers


def _unsigned(key: int) -> int:
    return key << 1 if key >= 0 else (-key << 1) - 1


def _signed(number: int) -> int:
    return number >> 1 if not number & 1 else -((number + 1) >> 1)
