"""The parts of a file, each an object named by where it begins."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

PART_BYTES = 32 * 1024 * 1024
"""What a new part holds; a reader takes parts of any size, as they lie there."""
_DIGITS = 15
_PART = re.compile(rf"blobs/sha256/[0-9a-f]{{2}}/([0-9a-f]{{64}})/\d{{{_DIGITS}}}")


@dataclass(frozen=True, kw_only=True)
class Part:
    key: str
    start: int
    size_bytes: int


def parts_of(folder: str, size_bytes: int, part_bytes: int) -> Sequence[Part]:
    """Return the parts that a file of that size is stored in; an empty one has an empty part."""
    return [
        Part(key=_key(folder, start), start=start, size_bytes=min(part_bytes, size_bytes - start))
        for start in range(0, max(size_bytes, 1), part_bytes)
    ]


def chain(folder: str, sizes: Mapping[str, int], size_bytes: int) -> Sequence[Part] | None:
    """Return the stored parts that are the file one after the other; None where one is missing."""
    parts: list[Part] = []
    start = 0
    while start < max(size_bytes, 1):
        key = _key(folder, start)
        stored = sizes.get(key)
        if stored is None or (stored == 0 and size_bytes):
            return None
        parts.append(Part(key=key, start=start, size_bytes=stored))
        start += max(stored, 1)
    return parts if sum(part.size_bytes for part in parts) == size_bytes else None


def sha256_of_key(key: str) -> str | None:
    """Return the name of the file that a part is one of, None for what is no part."""
    match = _PART.fullmatch(key)
    return match[1] if match else None


def _key(folder: str, start: int) -> str:
    return f"{folder}/{start:0{_DIGITS}d}"
