"""Numbers are written so that they are read as what they were."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.engine.server.pooling.number_text import write_rows

EVERY_POWER = [np.float32(f"1e{power}") for power in range(-45, 39)]
BESIDE = [np.nextafter(each, np.float32(side)) for each in EVERY_POWER for side in (0, np.inf)]


def read_again(numbers: np.ndarray) -> np.ndarray:
    """What a client reads of the text that is written."""
    (text,) = write_rows([numbers])
    assert len(text) == 16 * len(numbers) + 1
    return np.array(json.loads(text), np.float64).astype(np.float32)


@given(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=50))
def test_every_number_is_read_as_it_was(bits: list[int]) -> None:
    numbers = np.array(bits, np.uint32).view(np.float32)
    numbers = np.where(np.isfinite(numbers), numbers, 0).astype(np.float32)
    assert read_again(numbers).view(np.uint32).tolist() == numbers.view(np.uint32).tolist()


@pytest.mark.parametrize(
    "numbers",
    [EVERY_POWER, BESIDE, [0.0, -0.0, 1.0, -1.0, 0.1, 9.9999999e8, 3.4028235e38, 1e-45]],
    ids=["powers of ten", "their neighbours", "corners"],
)
def test_numbers_at_a_new_digit_are_read_as_they_were(numbers: list[float]) -> None:
    array = np.array(numbers, np.float32)
    assert read_again(array).view(np.uint32).tolist() == array.view(np.uint32).tolist()


def test_each_row_is_an_array_of_its_own_and_looks_like_a_number() -> None:
    rows = [np.array(each, np.float32) for each in ([0.015625, -2.0], [1.0, 0.0])]
    assert list(write_rows(rows)) == [
        b"[ 1.56250000e-02,-2.00000000e+00]", b"[ 1.00000000e+00, 0.00000000e+00]",
    ]  # fmt: skip


def test_what_is_no_number_is_left_to_the_usual_writer() -> None:
    (text,) = write_rows([np.array([1.0, np.inf, np.nan], np.float32)])
    assert text == b"[1.0,Infinity,NaN]"
