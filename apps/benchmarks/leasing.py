"""Benchmarks as work that a control worker leases, one at a time: two would disturb each other."""

from collections.abc import Collection, Mapping
from typing import Any

from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Coalesce

from apps.accounts.keys.services import api_keys_revoke_of
from apps.benchmarks.models import Benchmark
from apps.leases.database_clock import ClockTimestamp
from apps.leases.kind_parts import always_on, failed_with
from apps.leases.kinds import LeaseKind
from controlplane.celery import CONTROL_QUEUE
from controlplane.domain.failures.registry import benchmarks
from controlplane.domain.lifecycle import BENCHMARK_TERMINAL, BenchmarkState
from controlplane.domain.wire.traffic_mark import BENCHMARK as MARK

MOST_CLAIMS = 1
"""A run whose worker was lost is not begun anew: its load would come as a surprise."""


def keys_revoke(benchmark_ids: Collection[str]) -> None:
    api_keys_revoke_of(Benchmark.objects.filter(id__in=benchmark_ids), traffic_mark=MARK)


def _no_other_runs() -> Q:
    running = Benchmark.objects.filter(state=BenchmarkState.RUNNING)
    return ~Q(Exists(running.exclude(id=OuterRef("pk"))))


def _given_up() -> Mapping[str, Any]:
    return failed_with(benchmarks.LOST.failure(), state=BenchmarkState.FAILED)


BENCHMARK = LeaseKind(
    name="benchmark",
    model=Benchmark,
    task="benchmarks.run",
    queue_of=always_on(CONTROL_QUEUE),
    is_open=~Q(state__in=BENCHMARK_TERMINAL),
    may_be_claimed=Q(cancel_requested_at=None) & _no_other_runs(),
    waiting={"state": BenchmarkState.QUEUED},
    claimed={
        "state": BenchmarkState.RUNNING,
        "started_at": Coalesce("started_at", ClockTimestamp()),
    },
    cancel_column="cancel_requested_at",
    cancelled={"state": BenchmarkState.CANCELLED, "finished_at": ClockTimestamp()},
    let_go=keys_revoke,
    most_claims=MOST_CLAIMS,
    given_up=_given_up,
    end_parts=keys_revoke,
)
