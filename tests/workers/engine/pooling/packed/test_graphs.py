"""The sizes that are recorded; what they hold is tested on a GPU."""

from itertools import pairwise

import pytest

from workers.engine.pooling.packed.graphs import sizes_up_to


@pytest.mark.parametrize("most", [16, 32, 100, 2048, 8192, 10_000])
def test_no_forward_is_filled_up_by_more_than_a_quarter(most: int) -> None:
    sizes = sizes_up_to(most)
    assert sizes == sorted(set(sizes))
    assert sizes[-1] == most
    assert all(b <= a * 1.25 for a, b in pairwise(sizes))
