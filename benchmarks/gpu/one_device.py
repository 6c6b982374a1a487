"""Blank what a compiled CUDA library holds for other generations of GPUs; zeros pack to nothing.

A library carries each kernel once per generation, in containers that list what they hold. A
driver looks for its own generation by that list, so it stays and only the code of others goes.
"""

import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_CONTAINER = re.compile(b"\x50\xed\x55\xba\x01\x00\x10\x00")
_CONTAINER_BYTES = 16
_ASSEMBLY, _MACHINE_CODE = 1, 2


class _Entry(NamedTuple):
    kind: int
    generation: int
    start: int
    end: int


def blank_others(library: Path, generation: int) -> int:
    """Zero the machine code of other generations than, say, 90; return how many bytes that were."""
    content = bytearray(library.read_bytes())
    blanked = 0
    for outcome in _CONTAINER.finditer(bytes(content)):
        for entry in _not_needed(list(_entries(content, outcome.start())), generation):
            content[entry.start : entry.end] = bytes(entry.end - entry.start)
            blanked += entry.end - entry.start
    library.write_bytes(content)
    return blanked


def _entries(content: bytearray, container: int) -> Iterator[_Entry]:
    (size,) = struct.unpack_from("<Q", content, container + 8)
    place = container + _CONTAINER_BYTES
    end = place + size
    while place < end:
        kind, _, header, length = struct.unpack_from("<HHIQ", content, place)
        (generation,) = struct.unpack_from("<I", content, place + 28)
        yield _Entry(kind, generation, place + header, place + header + length)
        place += header + length


def _not_needed(entries: list[_Entry], generation: int) -> list[_Entry]:
    """Machine code of others; and assembly too, where there is code for this generation."""
    own = [each for each in entries if (each.kind, each.generation) == (_MACHINE_CODE, generation)]
    others = {_MACHINE_CODE, _ASSEMBLY} if own else {_MACHINE_CODE}
    return [each for each in entries if each.kind in others and each not in own]
