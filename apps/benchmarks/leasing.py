"""Benchmarks as work that a control worker leases, one at a time: two would disturb each other."""

from collections.abc import Collection, Mapping
from typing import Any

from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Coalesce

from apps.accounts.keys.services import api_key_revoke
from apps.accounts.models import ApiKey
from apps.benchmarks.models import Benchmark
from apps.leases.database_clock import ClockTimestamp
from apps.leases.kinds import LeaseKind
from apps.leases.services import TAKEN_AWAY, leases_unheld
from controlplane.celery import CONTROL_QUEUE
from controlplane.domain.failures.registry import benchmarks
from controlplane.domain.lifecycle import BENCHMARK_TERMINAL, BenchmarkState
from controlplane.domain.wire.traffic_mark import BENCHMARK as MARK

MOST_CLAIMS = 1
"""A run whose worker was lost is not begun anew: its load would come as a surprise."""


def keys_revoke(benchmark_ids: Collection[str]) -> None:
    """Revoke the keys that were made for these runs."""
    rows = Benchmark.objects.filter(id__in=benchmark_ids, api_key__revoked_at=None)
    ids = rows.exclude(api_key=None).values_list("api_key", flat=True)
    for key in ApiKey.objects.filter(id__in=list(ids), traffic_mark=MARK).select_related("team"):
        api_key_revoke(api_key=key)


def _queue_of(_benchmark: Benchmark) -> str:
    return CONTROL_QUEUE


def _no_secrets(_benchmark: Benchmark) -> Mapping[str, str]:
    return {}


def _no_other_runs() -> Q:
    running = Benchmark.objects.filter(state=BenchmarkState.RUNNING)
    return ~Q(Exists(running.exclude(id=OuterRef("pk"))))


def _cancel_abandoned() -> None:
    """End those that were to be cancelled and lost their worker: nobody claims them again."""
    abandoned = leases_unheld(BENCHMARK).exclude(cancel_requested_at=None)
    ids = list(abandoned.values_list("id", flat=True))
    ended = leases_unheld(BENCHMARK).filter(id__in=ids).update(
        state=BenchmarkState.CANCELLED, finished_at=ClockTimestamp(), **TAKEN_AWAY
    )  # fmt: skip
    if ended:
        keys_revoke(ids)


def _given_up() -> Mapping[str, Any]:
    return {
        "state": BenchmarkState.FAILED,
        "failure": benchmarks.LOST.failure().to_json(),
        "finished_at": ClockTimestamp(),
    }


BENCHMARK = LeaseKind(
    name="benchmark",
    model=Benchmark,
    task="benchmarks.run",
    queue_of=_queue_of,
    secrets_of=_no_secrets,
    is_open=~Q(state__in=BENCHMARK_TERMINAL),
    may_be_claimed=Q(cancel_requested_at=None) & _no_other_runs(),
    waiting={"state": BenchmarkState.QUEUED},
    claimed={
        "state": BenchmarkState.RUNNING,
        "started_at": Coalesce("started_at", ClockTimestamp()),
    },
    cancel_column="cancel_requested_at",
    tidy=_cancel_abandoned,
    let_go=keys_revoke,
    most_claims=MOST_CLAIMS,
    given_up=_given_up,
    end_parts=keys_revoke,
)
