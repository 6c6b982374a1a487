import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apps.benchmarks.models import Benchmark, BenchmarkTarget
from controlplane.domain.benchmarks.order import Limits
from controlplane.domain.benchmarks.planned import (
    PlannedAgainstMeasured,
    cost_per_million_tokens,
    planned_against_measured,
)
from controlplane.domain.benchmarks.verdicts import Stage, largest_load, throughput_of

FIGURES = (
    "load", "level", "is_partial", "seconds", "requests", "errors", "error_share",
    "warm_up_requests", "requests_per_second", "texts_per_second", "prompt_tokens_per_second",
    "completion_tokens_per_second", "concurrency_mean", "prompt_tokens_mean",
    "completion_tokens_mean", "send_delay_p99_seconds", "client_cpu_share", "is_client_limited",
)  # fmt: skip
TIMES = ("first_token_seconds", "inter_token_seconds", "end_to_end_seconds")
SHARES = ("p50", "p90", "p99")
MADE_OF = (
    "revision", "artifact_digest", "runtime", "engine_version", "quantization_type", "driver",
    "replicas", "gateways",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Measured:
    target: BenchmarkTarget
    stages: Sequence[Stage]
    """Each with `cost_per_million_tokens`, `throughput` and its `unit`."""
    sentence: str
    planned: Sequence[PlannedAgainstMeasured]

    @property
    def made_words(self) -> str:
        """What it ran on, in a line."""
        made_of = self.target.made_of
        words = [made_of.get(name) for name in ("revision", "runtime", "engine_version")]
        words += [made_of.get("quantization_type"), " + ".join(made_of.get("devices") or ())]
        words += [f"driver {made_of['driver']}"] if made_of.get("driver") else []
        words += [
            f"{made_of[name]} {name}" for name in ("replicas", "gateways") if made_of.get(name)
        ]
        return " · ".join(str(each) for each in words if each)

    @property
    def is_client_limited(self) -> bool:
        """Whether the client itself was busy at some level, so that figures may be too low."""
        return any(each["is_client_limited"] for each in self.stages)


def limits_of(benchmark: Benchmark) -> Limits:
    return Limits.model_validate(benchmark.order.get("limits") or {})


def measured(benchmark: Benchmark) -> list[Measured]:
    targets = sorted(benchmark.targets.all(), key=lambda each: each.position)
    return [_measured(each, limits_of(benchmark)) for each in targets]


def _measured(target: BenchmarkTarget, limits: Limits) -> Measured:
    made_of = target.made_of
    return Measured(
        target=target,
        stages=[_stage(each, made_of.get("cost_per_hour")) for each in target.stages],
        sentence=largest_load(target.label, limits, target.stages),
        planned=planned_against_measured(
            made_of.get("plan"), target.stages,
            replicas=made_of.get("replicas") or 1,
            reported_kv_tokens=made_of.get("reported_kv_tokens"),
        ),
    )  # fmt: skip


def _stage(stage: Stage, cost_per_hour: float | None) -> dict[str, Any]:
    value, unit = throughput_of(stage)
    cost = cost_per_million_tokens(stage, cost_per_hour)
    return {**stage, "throughput": value, "unit": unit, "cost_per_million_tokens": cost}


def to_json(benchmark: Benchmark) -> list[dict[str, Any]]:
    return [
        {
            "label": each.target.label,
            "deployment_id": each.target.deployment_id,
            "made_of": {name: each.target.made_of.get(name) for name in (*MADE_OF, "devices")},
            "stages": list(each.stages),
            "largest_load": each.sentence,
            "planned": [
                vars(row) | {"difference_ratio": row.difference_ratio} for row in each.planned
            ],
        }
        for each in measured(benchmark)
    ]


def to_csv(benchmarks: Sequence[Benchmark]) -> str:
    out = io.StringIO()
    writer = csv.writer(out)
    times = [f"{name}_{share}" for name in TIMES for share in SHARES]
    writer.writerow(
        ["benchmark_id", "created_at", "shape", "seed", "deployment", *MADE_OF, "devices", *FIGURES,
         *times, "cost_per_million_tokens", "broken_limits"]
    )  # fmt: skip
    for benchmark in benchmarks:
        writer.writerows(_lines(benchmark))
    return out.getvalue()


def _lines(benchmark: Benchmark) -> Iterator[list[Any]]:
    for each in measured(benchmark):
        made_of = each.target.made_of
        made = [made_of.get(name) for name in MADE_OF] + [" + ".join(made_of.get("devices") or ())]
        begin = [benchmark.id, benchmark.created_at.isoformat(), benchmark.shape,
                 benchmark.order.get("seed"), each.target.label, *made]  # fmt: skip
        for stage in each.stages:
            yield [_safe(value) for value in [*begin, *_figures(stage)]]


def _figures(stage: Mapping[str, Any]) -> list[Any]:
    times = [(stage[name] or {}).get(share) for name in TIMES for share in SHARES]
    ends = [stage["cost_per_million_tokens"], "; ".join(stage["broken_limits"])]
    return [*(stage[name] for name in FIGURES), *times, *ends]


def _safe(value: Any) -> Any:
    # A spreadsheet computes what begins like this.
    return f"'{value}" if isinstance(value, str) and value[:1] in "=+-@" else value
