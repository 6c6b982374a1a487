"""Whether weights are numbers, seen by their bits as a file's bytes go by."""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from controlplane.domain.json_text import read_json

_LENGTH_BYTES = 8
_LARGEST_HEADER_BYTES = 100_000_000
_BLOCK_NUMBERS = 64 * 1024
"""What fits the cache of a core: a larger block is read from memory twice."""

_UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


@dataclass(frozen=True)
class _Format:
    """A floating-point type: its size, and its first number that is none, sign shifted out."""

    size_bytes: int
    first: int


@dataclass(frozen=True)
class _OneCode:
    """A floating-point type of a byte in which one code alone is no number."""

    code: int
    size_bytes: int = 1


_FORMATS: Mapping[str, _Format | _OneCode] = {
    "BF16": _Format(2, 0xFF00),
    "F16": _Format(2, 0xF800),
    "F32": _Format(4, 0xFF00_0000),
    "F64": _Format(8, 0xFFE0_0000_0000_0000),
    "F8_E4M3": _Format(1, 0xFE),
    "F8_E5M2": _Format(1, 0xF8),
    "C64": _Format(4, 0xFF00_0000),  # two F32 each
    "F8_E8M0": _OneCode(0xFF),  # of scales: no sign
    "F8_E4M3FNUZ": _OneCode(0x80),
    "F8_E5M2FNUZ": _OneCode(0x80),
}


@dataclass(frozen=True)
class _Tensor:
    name: str
    begin: int
    end: int
    format: _Format | _OneCode | None


@dataclass
class NotFinite:
    """The tensors of each file in which something is no number, and how many are not."""

    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    """File -> tensor -> numbers that are infinite or none at all."""

    def look(self, path: str) -> "FileLook | None":
        """Return what is to see the file's bytes from the first to the last; None for no weights.

        A file that is read once more is looked at anew.
        """
        if not path.endswith(".safetensors"):
            return None
        return FileLook(self.counts.setdefault(path, {}))

    def faulty_files(self) -> dict[str, dict[str, int]]:
        return {path: counts for path, counts in self.counts.items() if counts}


class FileLook:
    """One pass over one safetensors file; a file that is none shows nothing."""

    def __init__(self, counts: dict[str, int]) -> None:
        counts.clear()
        self._counts = counts
        self._header = b""
        self._tensors: list[_Tensor] | None = None
        self._next = 0
        """Of the tensors, the one that the next byte belongs to or lies before."""
        self._position = 0
        self._begun = b""
        """The bytes of a number that lies across two chunks."""
        self._doubled = {size: np.empty(_BLOCK_NUMBERS, kind) for size, kind in _UNSIGNED.items()}

    def update(self, chunk: bytes) -> None:
        rest = memoryview(chunk)
        if self._tensors is None:
            self._header += chunk
            self._tensors = _tensors(self._header)
            if self._tensors is None:
                return
            (length,) = struct.unpack_from("<Q", self._header)
            rest = memoryview(self._header)[_LENGTH_BYTES + length :]
            self._header = b""
        self._see(rest, self._tensors)

    def _see(self, rest: memoryview, tensors: list[_Tensor]) -> None:
        while rest and self._next < len(tensors):
            tensor = tensors[self._next]
            skipped = max(tensor.begin - self._position, 0)
            piece = rest[skipped : skipped + tensor.end - max(self._position, tensor.begin)]
            if tensor.format is not None and piece:
                self._count(piece, tensor, tensor.format)
            taken = min(skipped + len(piece), len(rest))
            self._position += taken
            rest = rest[taken:]
            if self._position >= tensor.end:
                self._next += 1
                self._begun = b""

    def _count(self, piece: memoryview, tensor: _Tensor, kind: _Format | _OneCode) -> None:
        if self._begun:
            piece = memoryview(self._begun + piece.tobytes())
        whole = len(piece) - len(piece) % kind.size_bytes
        self._begun = piece[whole:].tobytes()
        if count := self._not_finite(piece[:whole], kind):
            self._counts[tensor.name] = self._counts.get(tensor.name, 0) + count

    def _not_finite(self, piece: memoryview, kind: _Format | _OneCode) -> int:
        numbers = np.frombuffer(piece, _UNSIGNED[kind.size_bytes])
        if isinstance(kind, _OneCode):
            return int(np.count_nonzero(numbers == kind.code))
        buffer = self._doubled[kind.size_bytes]
        count = 0
        for start in range(0, len(numbers), _BLOCK_NUMBERS):
            block = numbers[start : start + _BLOCK_NUMBERS]
            # Doubled, the sign is gone, and what is no number is largest.
            doubled = np.add(block, block, out=buffer[: len(block)])
            if doubled.max() >= kind.first:
                count += int(np.count_nonzero(doubled >= kind.first))
        return count


def _tensors(start: bytes) -> list[_Tensor] | None:
    """Return the tensors that a file begins to tell, by place; None while its header goes on."""
    if len(start) < _LENGTH_BYTES:
        return None
    (length,) = struct.unpack_from("<Q", start)
    if length > _LARGEST_HEADER_BYTES:
        return []
    if len(start) < _LENGTH_BYTES + length:
        return None
    try:
        header = read_json(start[_LENGTH_BYTES : _LENGTH_BYTES + length])
        return sorted(_listed(header), key=lambda each: (each.begin, each.end))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return []  # what is wrong with a header is told where headers are read


def _listed(header: Mapping[str, Any]) -> Iterator[_Tensor]:
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            yield _Tensor(name, int(begin), int(end), _FORMATS.get(entry["dtype"]))
