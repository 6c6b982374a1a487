"""The sizes that are recorded; what they hold is tested on a GPU."""

from itertools import pairwise

import pytest

from workers.engine.pooling.packed.graphs import FORMS, Form, fitting, sizes_up_to


@pytest.mark.parametrize("most", [16, 32, 100, 2048, 8192, 10_000])
def test_no_forward_is_filled_up_by_more_than_a_quarter(most: int) -> None:
    sizes = sizes_up_to(most)
    assert sizes == sorted(set(sizes))
    assert sizes[-1] == most
    assert all(b <= a * 1.25 for a, b in pairwise(sizes))


USUAL, ANY, SHORT = FORMS


@pytest.mark.parametrize(
    ("lengths", "found"),
    [
        ([150], (160, USUAL)), ([300], (320, ANY)), ([512] * 16, (8192, ANY)),
        ([150] * 54, (8192, USUAL)), ([40] * 50, (2048, ANY)), ([40, *[200] * 9], (2048, USUAL)),
        ([8] * 256, (2048, SHORT)), ([200, *[8] * 128], (None, None)), ([513], (None, None)),
        ([512] * 17, (None, None)), ([20], (32, USUAL)), ([20, 20], (40, SHORT)),
        ([3] * 9, (None, None)),
    ],
    ids=str,
)  # fmt: skip
def test_the_least_graph_is_taken_that_has_room_and_is_not_mostly_filling(
    lengths: list[int], found: tuple[int | None, Form | None]
) -> None:
    taken = fitting(sizes_up_to(8192), sorted(lengths, reverse=True))
    assert (taken or (None, None)) == found
