"""Libraries are packed without the code of other generations of GPUs."""

import struct
from pathlib import Path

from benchmarks.gpu.one_device import blank_others

ASSEMBLY, MACHINE_CODE = 1, 2


def _container(*entries: tuple[int, int, bytes]) -> bytes:
    """Return what CUDA's compiler writes: a header, then each entry behind its own header."""
    body = b"".join(
        struct.pack("<HHIQ", kind, 0x101, 64, len(code))
        + bytes(12)
        + struct.pack("<I", generation)
        + bytes(32)
        + code
        for kind, generation, code in entries
    )
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def test_the_code_of_other_generations_is_blanked_and_what_lists_it_stays(tmp_path: Path) -> None:
    library = tmp_path / "library.so"
    parts = (
        (MACHINE_CODE, 80, b"eighty!!"),
        (MACHINE_CODE, 90, b"ninety!!"),
        (ASSEMBLY, 80, b"text"),
    )
    library.write_bytes(b"host code" + _container(*parts) + b"more host code")
    assert blank_others(library, 90) == len(b"eighty!!text")
    blank = (MACHINE_CODE, 80, bytes(8)), (MACHINE_CODE, 90, b"ninety!!"), (ASSEMBLY, 80, bytes(4))
    assert library.read_bytes() == b"host code" + _container(*blank) + b"more host code"


def test_assembly_stays_where_nothing_is_compiled_for_the_device(tmp_path: Path) -> None:
    library = tmp_path / "library.so"
    library.write_bytes(_container((MACHINE_CODE, 80, b"eighty!!"), (ASSEMBLY, 80, b"text")))
    assert blank_others(library, 90) == len(b"eighty!!")
    kept = _container((MACHINE_CODE, 80, bytes(8)), (ASSEMBLY, 80, b"text"))
    assert library.read_bytes() == kept
