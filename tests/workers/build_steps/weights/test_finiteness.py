"""What is seen of a file's numbers while its bytes go by."""

import json
import struct
from collections.abc import Mapping

import numpy as np
import pytest

from workers.build_steps.weights.finiteness import NotFinite

NAME = "model.safetensors"


def file_of(tensors: Mapping[str, tuple[str, bytes]]) -> bytes:
    header, data = {}, b""
    for name, (dtype, content) in tensors.items():
        offsets = [len(data), len(data) + len(content)]
        header[name] = {"dtype": dtype, "shape": [len(content)], "data_offsets": offsets}
        data += content
    text = json.dumps({"__metadata__": {"format": "pt"}, **header}).encode()
    return struct.pack("<Q", len(text)) + text + data


def seen(content: bytes, chunk: int = 4 * 1024 * 1024) -> dict[str, dict[str, int]]:
    outcome = NotFinite()
    look = outcome.look(NAME)
    assert look is not None
    for start in range(0, len(content), chunk):
        look.update(content[start : start + chunk])
    return outcome.faulty_files()


def as_bytes(*numbers: float) -> bytes:
    return np.array(numbers, np.float32).tobytes()


NAN, INF = float("nan"), float("inf")
TYPES: Mapping[str, tuple[int, int, int, int]] = {
    "F64": (8, 0x7FEF_FFFF_FFFF_FFFF, 0x7FF0_0000_0000_0000, 0x7FF8_0000_0000_0000),
    "F32": (4, 0x7F7F_FFFF, 0x7F80_0000, 0x7FC0_0000),
    "F16": (2, 0x7BFF, 0x7C00, 0x7E00),
    "BF16": (2, 0x7F7F, 0x7F80, 0x7FC0),
    "F8_E5M2": (1, 0x7B, 0x7C, 0x7E),
}
"""Type -> bytes, and the bits of its largest number, of infinity and of one that is none."""


@pytest.mark.parametrize("dtype", TYPES)
def test_infinities_and_what_is_no_number_are_counted_and_the_largest_number_is_not(
    dtype: str,
) -> None:
    size, *codes = TYPES[dtype]
    sign = 1 << (8 * size - 1)
    largest, infinite, no_number = (
        b"".join(code.to_bytes(size, "little") for code in (each, each | sign)) for each in codes
    )
    numbers = bytes(size) + largest
    assert seen(file_of({"whole": (dtype, numbers)})) == {}
    broken = numbers + infinite + no_number
    assert seen(file_of({"whole": (dtype, numbers), "broken": (dtype, broken)})) == {
        NAME: {"broken": 4}
    }


def test_the_fp8_of_weights_has_no_infinities_and_two_codes_that_are_no_number() -> None:
    every_code = bytes(range(256))
    assert seen(file_of({"weight": ("F8_E4M3", every_code)})) == {NAME: {"weight": 2}}


@pytest.mark.parametrize("dtype", ["F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ"])
def test_where_one_code_alone_is_no_number_it_is_found(dtype: str) -> None:
    code = {"F8_E8M0": 0xFF}.get(dtype, 0x80)
    numbers = bytes(set(range(256)) - {code})
    assert seen(file_of({"whole": (dtype, numbers)})) == {}
    broken = numbers + bytes([code])
    assert seen(file_of({"broken": (dtype, broken)})) == {NAME: {"broken": 1}}


def test_both_parts_of_a_complex_number_are_looked_at() -> None:
    content = file_of({"waves": ("C64", as_bytes(1.0, NAN, INF, 1.0, 1.0, 1.0))})
    assert seen(content) == {NAME: {"waves": 2}}


def test_whole_numbers_are_not_looked_at() -> None:
    assert seen(file_of({"packed": ("U8", b"\xff" * 64), "ids": ("I64", b"\xff" * 64)})) == {}


@pytest.mark.parametrize("chunk", [1, 3, 7, 64, 1000])
def test_a_number_across_two_chunks_is_seen_and_counted_once(chunk: int) -> None:
    content = file_of(
        {
            "odd": ("F8_E4M3", b"\x00" * 3),
            "matrix": ("F32", as_bytes(*[1.0] * 9, NAN, *[1.0] * 9, INF)),
            "norm": ("BF16", bytes.fromhex("803f807f803f")),
        }
    )
    assert seen(content, chunk) == {NAME: {"matrix": 2, "norm": 1}}


def test_one_number_in_a_tensor_larger_than_a_block_is_found() -> None:
    matrix = np.ones(300_001, np.float32)
    matrix[-1] = NAN
    assert seen(file_of({"matrix": ("F32", matrix.tobytes())})) == {NAME: {"matrix": 1}}


def test_a_file_that_is_read_once_more_is_looked_at_anew() -> None:
    outcome = NotFinite()
    for numbers in ((NAN, NAN), (1.0, NAN)):
        look = outcome.look(NAME)
        assert look is not None
        look.update(file_of({"norm": ("F32", as_bytes(*numbers))}))
    assert outcome.faulty_files() == {NAME: {"norm": 1}}


@pytest.mark.parametrize(
    "content",
    [b"", b"\x01", b"\xff" * 64, struct.pack("<Q", 10) + b"[" * 64, b"\x02" + b"\0" * 7 + b"{}"],
)
def test_what_is_no_safetensors_file_shows_nothing(content: bytes) -> None:
    assert seen(content) == {}


def test_only_weights_are_looked_at() -> None:
    assert NotFinite().look("tokenizer.json") is None
