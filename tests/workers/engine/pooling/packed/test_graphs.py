"""The sizes that are recorded; what they hold is tested on a GPU."""

from itertools import pairwise

import pytest

from workers.engine.pooling.packed.graphs import fitting_size, sizes_up_to


@pytest.mark.parametrize("most", [16, 32, 100, 2048, 8192, 10_000])
def test_no_forward_is_filled_up_by_more_than_a_quarter(most: int) -> None:
    sizes = sizes_up_to(most)
    assert sizes == sorted(set(sizes))
    assert sizes[-1] == most
    assert all(b <= a * 1.25 for a, b in pairwise(sizes))


@pytest.mark.parametrize(
    ("tokens", "rows", "size"),
    [(150, 1, 160), (8192, 54, 8192), (8200, 54, None), (20, 1, 32), (2048, 64, 2048),
     (2048, 256, None), (2048, 120, 4096)],
)  # fmt: skip
def test_a_graph_that_would_be_mostly_filling_is_not_taken(
    tokens: int, rows: int, size: int | None
) -> None:
    assert fitting_size(sizes_up_to(8192), tokens=tokens, rows=rows) == size
