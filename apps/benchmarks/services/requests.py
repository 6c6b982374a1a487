from collections.abc import Sequence

from django.db import transaction

from apps.accounts.audit.recording import audit
from apps.accounts.models import Team, User
from apps.benchmarks.leasing import BENCHMARK
from apps.benchmarks.models import Benchmark, BenchmarkTarget
from apps.benchmarks.services.checks import (
    checked_deployments,
    checked_lengths,
    checked_load,
    checked_shape,
)
from apps.benchmarks.services.recorded import recorded_lengths
from apps.deployments.models import Deployment
from apps.leases.queue import work_send
from apps.leases.services import TAKEN_AWAY
from apps.rest.errors import Conflict, InvalidInput
from controlplane import clock
from controlplane.domain.benchmarks.order import Lengths, Limits, Load, Sample
from controlplane.domain.benchmarks.samples import FORMS, SampleProblem, read_samples
from controlplane.domain.benchmarks.shapes import RECORDED, SAMPLES, Shape
from controlplane.domain.lifecycle import BENCHMARK_TERMINAL, BenchmarkState


def benchmark_request(
    *,
    team: Team,
    deployment_ids: Sequence[str],
    shape: str,
    load: Load,
    limits: Limits | None = None,
    prompt_tokens: int | None = None,
    completion_tokens: int | None = None,
    samples_jsonl: str = "",
    seed: int = 0,
    name: str = "",
    user: User | None = None,
) -> Benchmark:
    """Return a benchmark that waits for a control worker. Raises InvalidInput, or Conflict."""
    limits = limits or Limits()
    deployments = checked_deployments(team, deployment_ids)
    chosen = checked_shape(deployments, shape)
    lengths = _lengths(chosen, prompt_tokens, completion_tokens)
    order = {
        "lengths": checked_lengths(deployments, lengths).model_dump() if lengths else None,
        "load": checked_load(load, limits, deployments=len(deployments)).model_dump(mode="json"),
        "limits": limits.model_dump(),
        "seed": seed,
    }
    samples = [each.model_dump() for each in _samples(chosen, deployments, samples_jsonl)]
    with transaction.atomic():
        benchmark = Benchmark.objects.create(
            team=team, name=name, shape=shape, order=order, samples=samples, created_by=user
        )
        BenchmarkTarget.objects.bulk_create(
            BenchmarkTarget(
                benchmark=benchmark, position=position, deployment=each,
                label=f"{each.model.name}, {each.name}",
            )
            for position, each in enumerate(deployments)
        )  # fmt: skip
        audited = {"deployment_ids": list(deployment_ids), "shape": shape, "load": order["load"]}
        audit("benchmark.start", benchmark, team=team, after=audited)
        work_send(BENCHMARK, benchmark)
    return benchmark


@transaction.atomic
def benchmark_cancel(*, benchmark: Benchmark) -> Benchmark:
    """Return it as it is after the request: a queued one is cancelled at once.

    A running one is stopped by its worker, which looks every second. Raises Conflict where it has
    ended.
    """
    before = benchmark.state
    rows, now = Benchmark.objects.filter(id=benchmark.id), clock.now()
    changed = rows.filter(state=BenchmarkState.QUEUED).update(
        state=BenchmarkState.CANCELLED, cancel_requested_at=now, finished_at=now, **TAKEN_AWAY
    ) or rows.filter(state=BenchmarkState.RUNNING, cancel_requested_at=None).update(
        cancel_requested_at=now
    )
    benchmark.refresh_from_db()
    if changed:
        audit("benchmark.cancel", benchmark, team=benchmark.team, before={"state": before})
    elif benchmark.state in BENCHMARK_TERMINAL - {BenchmarkState.CANCELLED}:
        raise Conflict(f"The benchmark has {benchmark.state} and cannot be cancelled.")
    return benchmark


def _lengths(shape: Shape, prompt: int | None, completion: int | None) -> Lengths | None:
    if shape.brings_lengths:
        return None
    prompt_tokens = prompt or shape.prompt_tokens
    return Lengths(
        prompt_tokens=prompt_tokens,
        completion_tokens=(completion or shape.completion_tokens) if shape.completion_tokens else 0,
        shared_tokens=min(shape.shared_tokens, prompt_tokens // 2),
        texts=shape.texts,
        is_code=shape.is_code,
    )


def _samples(shape: Shape, deployments: Sequence[Deployment], lines: str) -> list[Sample]:
    if shape.name == RECORDED:
        return _recorded(deployments[0])
    if shape.name != SAMPLES:
        return []
    try:
        return read_samples(lines)
    except SampleProblem as problem:
        raise InvalidInput(
            str(problem), fields=["samples_jsonl"], hint=f"Write lines such as {FORMS}."
        ) from problem


def _recorded(deployment: Deployment) -> list[Sample]:
    lengths = recorded_lengths(deployment)
    if not lengths:
        raise InvalidInput(
            f"`{deployment.name}` wrote no answers in the last 30 days that have lengths.",
            fields=["shape"],
            hint="Choose another shape, or bring lines of your own.",
        )
    return lengths
