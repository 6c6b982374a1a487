"""Benchmarks are run one at a time, however many workers begin."""

import threading

import pytest
from django.db import connection, transaction

from apps.benchmarks.services.carrying import benchmark_claim
from apps.leases.lease import Lease
from tests.factories_benchmarks import make_benchmark
from tests.waiting import wait_for


@pytest.mark.django_db(transaction=True)
def test_of_two_workers_that_begin_at_once_one_runs() -> None:
    first, second = make_benchmark(), make_benchmark()
    claims: list[Lease | None] = []
    late = threading.Thread(target=_claim, args=(second.id, claims))
    with transaction.atomic():
        assert benchmark_claim(benchmark_id=first.id) is not None
        late.start()
        wait_for(lambda: _waits_for_a_lock() or claims, what="the other to wait for the first")
        assert not claims, "it did not wait, and would run as well"
    late.join()
    assert claims == [None]


def _claim(benchmark_id: str, claims: list[Lease | None]) -> None:
    try:
        claims.append(benchmark_claim(benchmark_id=benchmark_id))
    finally:
        connection.close()


def _waits_for_a_lock() -> bool:
    with connection.cursor() as cursor:
        # Not pg_stat_activity, which a transaction reads once.
        cursor.execute("SELECT 1 FROM pg_locks WHERE NOT granted")
        return cursor.fetchone() is not None
