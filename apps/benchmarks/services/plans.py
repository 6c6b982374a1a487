"""Plans held against what was measured, stored where the plan's page reads it."""

from apps.benchmarks.models import BenchmarkTarget
from apps.configs.models import PlanMeasurement
from controlplane.domain.benchmarks.planned import planned_against_measured


def plans_compare(*, benchmark_id: str) -> int:
    targets = BenchmarkTarget.objects.filter(benchmark_id=benchmark_id).exclude(deployment=None)
    rows = [
        row
        for each in targets.select_related("deployment__build", "benchmark")
        for row in _rows(each)
    ]
    return len(PlanMeasurement.objects.bulk_create(rows))


def _rows(target: BenchmarkTarget) -> list[PlanMeasurement]:
    build = target.deployment.build if target.deployment is not None else None
    if build is None:
        return []
    made_of = target.made_of
    rows = planned_against_measured(
        made_of.get("plan"), target.stages,
        replicas=made_of.get("replicas") or 1, reported_kv_tokens=made_of.get("reported_kv_tokens"),
    )  # fmt: skip
    return [
        PlanMeasurement(
            revision_id=build.revision_id,
            benchmark_id=target.benchmark_id,
            device_kind=", ".join(made_of.get("device_kinds") or ()),
            difference_ratio=each.difference_ratio,
            **vars(each),
        )
        for each in rows
    ]
