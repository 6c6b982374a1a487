"""A line of tokens becomes the tables that it stands for."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from workers.engine.pooling.packed.batch import as_table, line_up, places, tables
from workers.engine.pooling.rows import Row

LENGTHS = st.lists(st.integers(1, 40), min_size=1, max_size=20).map(
    lambda found: sorted(found, reverse=True)
)


@given(lengths=LENGTHS)
def test_each_row_is_in_its_place_of_the_table(lengths: list[int]) -> None:
    rows = [Row(ids=[100 * at + place for place in range(n)]) for at, n in enumerate(lengths)]
    line = line_up(rows)
    table = as_table(torch.from_numpy(line.ids), lengths, torch.from_numpy(places(lengths)), -1)
    assert table.shape == (len(rows), lengths[0])
    for row, outcome in zip(rows, table.tolist(), strict=True):
        assert outcome == [*row.ids, *[-1] * (lengths[0] - len(row))]
    assert line.starts.tolist() == [sum(lengths[:at]) for at in range(len(lengths) + 1)]
    assert line.positions.tolist() == [place for n in lengths for place in range(n)]


@given(lengths=LENGTHS, most=st.integers(1, 200))
def test_tables_hold_every_row_once_within_their_limit(lengths: list[int], most: int) -> None:
    parts = list(tables(lengths, most))
    assert [at for part in parts for at in range(part.start, part.stop)] == [*range(len(lengths))]
    for part in parts:
        count = part.stop - part.start
        assert count == 1 or count * lengths[part.start] <= most
