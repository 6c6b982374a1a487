"""Reading of the header of a safetensors file: names, types, shapes and exact bytes, no weights."""

import math
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from controlplane.domain.json_text import read_json

# Most headers fit, so that one ranged read is enough.
FIRST_READ_BYTES = 64 * 1024
# The limit of the format's own reader.
_LARGEST_HEADER_BYTES = 100_000_000

ReadRange = Callable[[int, int], bytes]
"""The bytes from start up to end, not included."""


@dataclass(frozen=True, kw_only=True)
class StoredTensor:
    dtype: str
    """As `BF16` or `F8_E4M3`."""
    shape: tuple[int, ...]
    begin: int
    end: int
    """Where its bytes lie, from the end of the header on."""


@dataclass(frozen=True, kw_only=True)
class Totals:
    """What the tensors of a file add up to."""

    weight_bytes: int
    parameters: int
    shapes: Mapping[str, tuple[int, ...]]
    """Of its tensors."""


class BadHeader(ValueError):
    """The file does not start with a safetensors header."""


def read_totals(read_range: ReadRange, size_bytes: int) -> Totals:
    """Return the totals of a file given by `read_range(start, end)`."""
    tensors = read_tensors(read_range, size_bytes)
    return Totals(
        weight_bytes=sum(each.end - each.begin for each in tensors.values()),
        parameters=sum(math.prod(each.shape) for each in tensors.values()),
        shapes={name: each.shape for name, each in tensors.items()},
    )


def read_tensors(read_range: ReadRange, size_bytes: int) -> dict[str, StoredTensor]:
    """Return the tensors of a file by name. Raises BadHeader."""
    start = read_range(0, min(FIRST_READ_BYTES, size_bytes))
    if len(start) < 8:
        raise BadHeader("it is shorter than a safetensors header")
    (length,) = struct.unpack("<Q", start[:8])
    if length > _LARGEST_HEADER_BYTES or 8 + length > size_bytes:
        raise BadHeader("it does not start with a safetensors header")
    header = start[8 : 8 + length]
    if len(header) < length:
        header += read_range(8 + len(header), 8 + length)
    return _tensors(header, size_bytes - 8 - length)


def _tensors(header: bytes, data_bytes: int) -> dict[str, StoredTensor]:
    try:
        listed = read_json(header)
        listed.pop("__metadata__", None)
        tensors = {name: _tensor(fields) for name, fields in listed.items()}
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise BadHeader("its safetensors header is damaged") from error
    end = max((each.end for each in tensors.values()), default=0)
    if end != data_bytes:
        raise BadHeader(f"it holds {data_bytes} bytes of weights and announces {end}")
    return tensors


def _tensor(fields: dict[str, Any]) -> StoredTensor:
    begin, end = fields["data_offsets"]
    return StoredTensor(
        dtype=str(fields["dtype"]),
        shape=tuple(_whole(each) for each in fields["shape"]),
        begin=_whole(begin),
        end=_whole(end),
    )


def _whole(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r} is no size")
    return value
