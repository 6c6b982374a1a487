"""The slot pool never gives a slot twice and never loses one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.engine.slots import Row, SlotPool


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("reserve"), st.integers(1, 40)),
            st.tuples(st.just("release"), st.integers(0, 20)),
        ),
        max_size=60,
    )
)
def test_rows_never_overlap_and_everything_comes_back(actions: list[tuple[str, int]]) -> None:
    pool, rows = SlotPool(100), list[Row]()
    for action, number in actions:
        if action == "reserve":
            row = pool.reserve(number)
            rows += [row] if row else []
        elif rows:
            pool.release(rows.pop(number % len(rows)))
        taken = [slot for row in rows for slot in _slots(row)]
        assert len(taken) == len(set(taken)) == pool.reserved
    for row in rows:
        pool.release(row)
    whole = pool.reserve(100)
    assert whole is not None
    assert pool.reserve(1) is None


def test_the_whole_pool_may_be_one_row() -> None:
    pool = SlotPool(8)
    row = pool.reserve(8)
    assert row is not None
    pool.release(row)
    assert pool.reserved == 0


@pytest.mark.parametrize("capacity", [9, 1000])
def test_more_than_the_pool_is_never_given(capacity: int) -> None:
    assert SlotPool(8).reserve(capacity) is None


def _slots(row: Row) -> range:
    return range(row.first_slot, row.first_slot + row.capacity)
