"""Benchmarks as rows."""

from typing import Any

from apps.benchmarks.models import Benchmark, BenchmarkTarget
from controlplane.domain.benchmarks.order import Lengths, Limits, Load, LoadKind
from controlplane.domain.lifecycle import BenchmarkState
from tests.factories import make_deployment

LOAD = Load(kind=LoadKind.CONCURRENCY, levels=(1, 8), seconds=1.0, warm_up_seconds=0.0)
STAGE = {
    "load": "concurrency", "level": 1, "is_partial": False, "seconds": 30.0, "requests": 60,
    "errors": 0, "error_share": 0.0, "errors_by_reason": {}, "warm_up_requests": 5,
    "requests_per_second": 2.0, "texts_per_second": 2.0, "completion_tokens_per_second": 200.0,
    "prompt_tokens_per_second": 400.0, "concurrency_mean": 1.0,
    "first_token_seconds": {"p50": 0.1, "p90": 0.2, "p99": 0.3},
    "inter_token_seconds": {"p50": 0.01, "p90": 0.02, "p99": 0.03},
    "end_to_end_seconds": {"p50": 0.4, "p90": 0.5, "p99": 0.6}, "prompt_tokens_mean": 200.0,
    "completion_tokens_mean": 100.0, "send_delay_p99_seconds": 0.0, "client_cpu_share": 0.1,
    "is_client_limited": False, "broken_limits": [],
}  # fmt: skip


def make_benchmark(*, deployments: Any = None, stages: Any = (), **changes: Any) -> Benchmark:
    """A queued run of one deployment; `stages` are those of each."""
    outcome = deployments or [make_deployment()]
    order = {
        "lengths": Lengths(prompt_tokens=200, completion_tokens=100).model_dump(),
        "load": LOAD.model_dump(mode="json"), "limits": Limits(error_share=0.01).model_dump(),
        "seed": 0,
    }  # fmt: skip
    defaults = {"team": outcome[0].model.team, "shape": "chat", "order": order}
    benchmark = Benchmark.objects.create(**defaults | changes)
    for position, each in enumerate(outcome):
        BenchmarkTarget.objects.create(
            benchmark=benchmark, position=position, deployment=each,
            label=f"{each.model.name}, {each.name}", stages=list(stages),
        )  # fmt: skip
    return benchmark


def make_finished_benchmark(**changes: Any) -> Benchmark:
    """A run that measured two levels."""
    second = STAGE | {"level": 8, "completion_tokens_per_second": 900.0}
    return make_benchmark(
        **{"state": BenchmarkState.SUCCEEDED, "stages": [STAGE, second]} | changes
    )
