"""The bytes of a kept outline: a mark, two lengths, and numbers packed."""

import struct
import sys
import zlib
from array import array
from collections.abc import Sequence

from workers.gateway.traffic_samples.outlines import Outline

MARK = b"outline1"
_LENGTHS = struct.Struct("<II")
_NUMBER_BYTES = 4
_MOST_NUMBERS = 1_000_000


class UnreadableSample(ValueError):
    """The bytes are no outline, or not all of one."""


def pack(outline: Outline) -> bytes:
    numbers = _bytes_of([*outline.prompt, *outline.answer])
    return MARK + _LENGTHS.pack(len(outline.prompt), len(outline.answer)) + zlib.compress(numbers)


def unpack(packed: bytes) -> Outline:
    """Return the outline in these bytes. Raises UnreadableSample."""
    start = len(MARK) + _LENGTHS.size
    if packed[: len(MARK)] != MARK or len(packed) < start:
        raise UnreadableSample("they do not begin as an outline does")
    prompt_length, answered = _LENGTHS.unpack(packed[len(MARK) : start])
    if prompt_length + answered > _MOST_NUMBERS:
        raise UnreadableSample("it would be longer than any that is kept")
    numbers = _numbers_in(packed[start:], prompt_length + answered)
    return Outline(numbers[:prompt_length], numbers[prompt_length:])


def _numbers_in(packed: bytes, count: int) -> "array[int]":
    reader = zlib.decompressobj()
    try:
        plain = reader.decompress(packed, count * _NUMBER_BYTES + 1)
    except zlib.error as error:
        raise UnreadableSample(str(error)) from None
    if len(plain) != count * _NUMBER_BYTES or not reader.eof:
        raise UnreadableSample(f"it has not the {count} numbers that it names")
    numbers = array("i")
    numbers.frombytes(plain)
    return _little(numbers)


def _bytes_of(numbers: Sequence[int]) -> bytes:
    return _little(array("i", numbers)).tobytes()


def _little(numbers: "array[int]") -> "array[int]":
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers
