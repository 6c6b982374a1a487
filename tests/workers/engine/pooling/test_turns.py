"""Requests take turns, forwards keep their limits, and no row is lost."""

from hypothesis import given
from hypothesis import strategies as st

from workers.engine.pooling.rows import Request, Row
from workers.engine.pooling.turns import Turns


def request(*lengths: int) -> Request:
    return Request(rows=[Row(ids=[0] * length) for length in lengths], arrived_at=0.0)


def taken(turns: Turns) -> list[int]:
    return [len(waiting.row) for waiting in turns.take()]


def test_a_small_request_goes_with_the_next_forward_however_large_the_one_before_it() -> None:
    turns = Turns(max_rows=8, max_tokens=40)
    turns.add(request(*[10] * 100))
    assert taken(turns) == [10] * 4
    turns.add(request(7))
    assert sorted(taken(turns)) == [7, 10, 10, 10]


def test_of_two_large_requests_the_first_is_done_first() -> None:
    turns = Turns(max_rows=8, max_tokens=1000)
    first, second = request(*[10] * 16), request(*[10] * 16)
    turns.add(first)
    turns.add(second)
    batches = [turns.take() for _ in range(4)]
    shares = [[each.request for each in batch].count(first) for batch in batches]
    assert shares == [6, 6, 4, 0]


def test_rows_of_all_lengths_share_a_forward() -> None:
    turns = Turns(max_rows=8, max_tokens=600)
    for length in (3, 500, 40):
        turns.add(request(length))
    assert taken(turns) == [3, 500, 40]
    assert taken(turns) == []


def test_a_row_longer_than_a_whole_forward_goes_alone() -> None:
    turns = Turns(max_rows=4, max_tokens=100)
    turns.add(request(150, 150))
    turns.add(request(5))
    assert [taken(turns), taken(turns), taken(turns)] == [[150], [5], [150]]


def test_rows_of_a_request_that_nobody_waits_for_are_dropped() -> None:
    turns = Turns(max_rows=4, max_tokens=100)
    left, kept = request(5, 5), request(5)
    turns.add(left)
    turns.add(kept)
    left.answer.cancel()
    assert [waiting.request for waiting in turns.take()] == [kept]
    assert turns.take() == []


@given(
    requests=st.lists(st.lists(st.integers(1, 600), min_size=1, max_size=20), max_size=9),
    max_rows=st.integers(1, 9),
    max_tokens=st.integers(64, 900),
)
def test_every_row_comes_out_once_and_every_batch_keeps_its_limits(
    requests: list[list[int]], max_rows: int, max_tokens: int
) -> None:
    turns = Turns(max_rows=max_rows, max_tokens=max_tokens)
    for lengths in requests:
        turns.add(request(*lengths))
    out: list[int] = []
    while batch := taken(turns):
        assert len(batch) <= max_rows
        assert len(batch) == 1 or sum(batch) <= max_tokens
        out += batch
    assert sorted(out) == sorted(length for lengths in requests for length in lengths)


def test_a_row_that_no_longer_fits_keeps_its_turn_and_stops_nobody() -> None:
    turns = Turns(max_rows=8, max_tokens=100)
    first, wide, small = request(60, 60), request(90), request(*[5] * 4)
    for each in (first, wide, small):
        turns.add(each)
    assert [taken(turns) for _ in range(3)] == [[60, 5, 5, 5, 5], [90], [60]]
