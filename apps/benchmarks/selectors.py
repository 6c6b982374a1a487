from collections.abc import Sequence

from django.db.models import QuerySet

from apps.accounts.models import Team
from apps.benchmarks.models import Benchmark
from apps.rest.errors import NotFound

MOST_COMPARED = 8


def benchmark_list(*, team: Team, deployment_id: str = "") -> QuerySet[Benchmark]:
    rows = Benchmark.objects.filter(team=team)
    if deployment_id:
        rows = rows.filter(targets__deployment_id=deployment_id)
    return (
        rows.select_related("created_by", "team")
        .prefetch_related("targets")
        .defer("samples")
        .order_by("-created_at", "-id")
    )


def benchmark_get(*, team: Team, benchmark_id: str) -> Benchmark:
    benchmarks = benchmark_list(team=team).filter(id=benchmark_id).first()
    if benchmarks is None:
        raise NotFound(f"There is no benchmark `{benchmark_id}`.")
    return benchmarks


def benchmarks_to_compare(*, team: Team, ids: Sequence[str]) -> list[Benchmark]:
    """Return the benchmarks of these ids, at most eight. Raises NotFound."""
    return [
        benchmark_get(team=team, benchmark_id=id) for id in [*dict.fromkeys(ids)][:MOST_COMPARED]
    ]
