"""Rows of like length share a forward, the oldest goes next, and none is lost."""

from hypothesis import given
from hypothesis import strategies as st

from workers.engine.pooling.batching import Buckets
from workers.engine.pooling.rows import Request, Row


def request(*lengths: int) -> Request:
    return Request(rows=[Row(ids=[0] * length) for length in lengths], arrived_at=0.0)


def taken(buckets: Buckets) -> list[int]:
    return [len(waiting.row) for waiting in buckets.take()]


def test_like_goes_with_like() -> None:
    buckets = Buckets(max_rows=4, max_tokens=1000)
    buckets.add(request(200, 10, 9, 200, 10, 200, 9))
    assert taken(buckets) == [200, 200, 200]
    assert sorted(taken(buckets)) == [9, 9, 10, 10]
    assert taken(buckets) == []


def test_a_small_batch_takes_shorter_rows_in_down_to_half_its_length() -> None:
    buckets = Buckets(max_rows=8, max_tokens=1000)
    buckets.add(request(100, 60, 51, 49))
    assert taken(buckets) == [100, 60, 51]
    assert taken(buckets) == [49]


def test_the_oldest_row_goes_next_however_many_of_another_length_come() -> None:
    buckets = Buckets(max_rows=2, max_tokens=1000)
    buckets.add(request(5, 5, 300, 5, 5, 5, 5))
    assert taken(buckets) == [5, 5]
    assert taken(buckets) == [300]


def test_a_row_longer_than_a_whole_forward_goes_alone() -> None:
    buckets = Buckets(max_rows=4, max_tokens=100)
    buckets.add(request(150, 150))
    assert [taken(buckets), taken(buckets)] == [[150], [150]]


def test_rows_of_a_request_that_nobody_waits_for_are_dropped() -> None:
    buckets = Buckets(max_rows=4, max_tokens=100)
    left, kept = request(5, 5), request(5)
    buckets.add(left)
    buckets.add(kept)
    left.answer.cancel()
    assert [waiting.request for waiting in buckets.take()] == [kept]
    assert buckets.take() == []


@given(
    lengths=st.lists(st.integers(1, 600), max_size=60),
    max_rows=st.integers(1, 9),
    max_tokens=st.integers(64, 900),
)
def test_every_row_comes_out_once_and_every_batch_keeps_its_limits(
    lengths: list[int], max_rows: int, max_tokens: int
) -> None:
    buckets = Buckets(max_rows=max_rows, max_tokens=max_tokens)
    for length in lengths:
        buckets.add(request(length))
    out: list[int] = []
    while batch := taken(buckets):
        assert len(batch) <= max_rows
        assert len(batch) == 1 or len(batch) * max(batch) <= max_tokens
        assert max(batch) <= 2.5 * min(batch) + 1
        out += batch
    assert sorted(out) == sorted(lengths)
