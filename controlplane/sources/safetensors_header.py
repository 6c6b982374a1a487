"""Reading of the header of a safetensors file: names, shapes and exact bytes, no weights."""

import json
import math
import struct
from collections.abc import Callable
from dataclasses import dataclass

# Most headers fit, so that one ranged read is enough.
FIRST_READ_BYTES = 64 * 1024
# The limit of the format's own reader.
_LARGEST_HEADER_BYTES = 100_000_000


@dataclass(frozen=True, kw_only=True)
class Totals:
    """What the tensors of a file add up to."""

    weight_bytes: int
    parameters: int
    tensors: frozenset[str]


class BadHeader(ValueError):
    """The file does not start with a safetensors header."""


def read_totals(read_range: Callable[[int, int], bytes], size_bytes: int) -> Totals:
    """Return the totals of a file given by `read_range(start, end)`, end not included."""
    start = read_range(0, min(FIRST_READ_BYTES, size_bytes))
    if len(start) < 8:
        raise BadHeader("it is shorter than a safetensors header")
    (length,) = struct.unpack("<Q", start[:8])
    if length > _LARGEST_HEADER_BYTES or 8 + length > size_bytes:
        raise BadHeader("it does not start with a safetensors header")
    header = start[8 : 8 + length]
    if len(header) < length:
        header += read_range(8 + len(header), 8 + length)
    return _totals(header, size_bytes - 8 - length)


def _totals(header: bytes, data_bytes: int) -> Totals:
    try:
        tensors = json.loads(header)
        tensors.pop("__metadata__", None)
        sizes = [each["data_offsets"][1] - each["data_offsets"][0] for each in tensors.values()]
        ends = [each["data_offsets"][1] for each in tensors.values()]
        parameters = sum(math.prod(each["shape"]) for each in tensors.values())
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise BadHeader("its safetensors header is damaged") from error
    if max(ends, default=0) != data_bytes:
        raise BadHeader(
            f"it holds {data_bytes} bytes of weights and announces {max(ends, default=0)}"
        )
    return Totals(weight_bytes=sum(sizes), parameters=parameters, tensors=frozenset(tensors))
