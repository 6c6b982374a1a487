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
            st.tuples(st.just("resize"), st.integers(0, 20 * 40)),
            st.tuples(st.just("close_gaps"), st.just(0)),
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
        elif action == "close_gaps":
            pool.close_gaps()
            assert max((row.end_slot for row in rows), default=0) == pool.reserved
        elif rows and action == "resize":
            row, capacity = rows[number % len(rows)], number // 20 + 1
            expected = (row.capacity, capacity)[pool.resize(row, capacity)]
            assert row.capacity == expected
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


def test_a_row_that_has_room_behind_it_grows_where_it_is() -> None:
    pool = SlotPool(10)
    first, second = pool.reserve(3), pool.reserve(3)
    assert first is not None
    assert second is not None
    assert pool.resize(second, 7)
    assert (second.first_slot, second.capacity) == (3, 7)
    assert not pool.resize(first, 4)
    assert (first.first_slot, first.capacity, pool.reserved) == (0, 3, 10)


def _slots(row: Row) -> range:
    return range(row.first_slot, row.first_slot + row.capacity)
