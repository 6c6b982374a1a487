"""What the worker that carries a benchmark out asks and writes; every write names its lease."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from django.db import connection, transaction

from apps.accounts.keys.services import KeyLimits, api_key_create, api_key_revoke
from apps.accounts.models import ApiKeyType
from apps.benchmarks.leasing import BENCHMARK, keys_revoke
from apps.benchmarks.models import Benchmark, BenchmarkTarget
from apps.benchmarks.services.checks import kind_of
from apps.benchmarks.services.made_of import made_of
from apps.benchmarks.services.plans import plans_compare
from apps.deployments.addresses import Address, called_route
from apps.deployments.selectors import served_model_name
from apps.leases.database_clock import ClockTimestamp
from apps.leases.lease import Lease, LeaseLost
from apps.leases.services import lease_claim, lease_end, lease_held
from controlplane import clock
from controlplane.domain.benchmarks.order import LONGEST_SECONDS, BenchmarkOrder, Target
from controlplane.domain.failures import Failure
from controlplane.domain.lifecycle import BenchmarkState
from controlplane.domain.wire.traffic_mark import BENCHMARK as MARK

_CLAIM_LOCK = 7_020_007
_KEY_LASTS = timedelta(seconds=2 * LONGEST_SECONDS)
"""Longer than any run: what ends it is the end of the run, and this where all else fails."""


def benchmark_claim(*, benchmark_id: str, owner: str = "") -> Lease | None:
    """Return a lease on a benchmark, or None where it or another one is run already."""
    with transaction.atomic():
        _wait_for_other_claims()
        return lease_claim(kind=BENCHMARK, id=benchmark_id, owner=owner)


def _wait_for_other_claims() -> None:
    """Two that claim at once would each see that nothing runs, and both run."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_CLAIM_LOCK])


def benchmark_begin(*, lease: Lease) -> BenchmarkOrder:
    """Return what is to be asked, and store what it is asked of. Raises LeaseLost."""
    targets = BenchmarkTarget.objects.filter(benchmark_id=lease.id).order_by("position")
    rows = list(
        targets.select_related(
            "deployment__model", "deployment__artifact", "deployment__build__revision__config"
        )
    )
    with lease_held(lease) as benchmark:
        for each in rows:
            if each.deployment is not None:
                made = made_of(each.deployment)
                BenchmarkTarget.objects.filter(id=each.id).update(made_of=made, stages=[])
        order, samples = benchmark.order, benchmark.samples
    benchmarked = [_target(each) for each in rows if each.deployment is not None]
    return BenchmarkOrder(targets=benchmarked, samples=samples, **order)


def benchmark_key(*, lease: Lease) -> str:
    """Return the text of a key for this run alone. Raises LeaseLost."""
    benchmark = Benchmark.objects.select_related("team").get(id=lease.id)
    models = benchmark.targets.exclude(deployment=None).values_list("deployment__model", flat=True)
    made = api_key_create(
        team=benchmark.team,
        type=ApiKeyType.WORKSPACE_INVOKE,
        name=f"benchmark {benchmark.id}",
        model_ids=sorted(set(models)),
        limits=KeyLimits(expires_at=clock.now() + _KEY_LASTS),
        traffic_mark=MARK,
    )
    leased = Benchmark.objects.filter(id=lease.id, lease_token=lease.token)
    if not leased.update(api_key=made.api_key):
        api_key_revoke(api_key=made.api_key)
        raise LeaseLost(lease.id)
    return made.text


def benchmark_progress(
    *, lease: Lease, stages: Sequence[Sequence[Mapping[str, Any]]], progress: Mapping[str, Any]
) -> None:
    """Store how far it is and what was measured so far. Raises LeaseLost."""
    with lease_held(lease):
        Benchmark.objects.filter(id=lease.id).update(progress=dict(progress))
        _store_stages(lease.id, stages)


def benchmark_end(*, lease: Lease, state: BenchmarkState, failure: Failure | None = None) -> bool:
    """Return whether it ended so; its key is revoked first, and its plans are held against it."""
    keys_revoke([lease.id])
    failure_json = failure.to_json() if failure is not None else None
    ended = lease_end(lease=lease, state=state, failure=failure_json, finished_at=ClockTimestamp())
    if ended:
        plans_compare(benchmark_id=lease.id)
    return ended


@transaction.atomic
def _store_stages(benchmark_id: str, stages: Sequence[Sequence[Mapping[str, Any]]]) -> None:
    present = BenchmarkTarget.objects.filter(benchmark_id=benchmark_id).exclude(deployment=None)
    for target_id, stage in zip(
        present.order_by("position").values_list("id", flat=True), stages, strict=False
    ):
        BenchmarkTarget.objects.filter(id=target_id).update(stages=list(stage))


def _target(each: BenchmarkTarget) -> Target:
    deployment = each.deployment
    assert deployment is not None
    return Target(
        label=each.label,
        url=Address(deployment=deployment).root,
        route=called_route(deployment),
        kind=kind_of(deployment),
        model=served_model_name(deployment),
    )
