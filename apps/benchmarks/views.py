from collections.abc import Sequence

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from apps.accounts.pages import page, person, words_of
from apps.benchmarks.api import exported
from apps.benchmarks.curves import charts
from apps.benchmarks.forms import BenchmarkForm
from apps.benchmarks.models import Benchmark
from apps.benchmarks.results import Measured, measured
from apps.benchmarks.selectors import benchmark_get, benchmark_list, benchmarks_to_compare
from apps.benchmarks.services.requests import benchmark_cancel, benchmark_request
from apps.deployments.addresses import GONE
from apps.deployments.models import Deployment
from apps.rest.errors import Conflict, InvalidInput
from apps.ui import tones
from apps.ui.fragments import live_answer
from apps.ui.listing import list_query_in, page_in, sorted_rows
from controlplane.domain.lifecycle import BENCHMARK_TERMINAL, DeploymentState

_MOST_OFFERED = 200
_SORTS = {"run": "name", "state": "state", "shape": "shape", "started": "created_at"}


@page
@require_safe
def benchmarks(request: HttpRequest) -> HttpResponse:
    deployment_id = request.GET.get("deployment", "")
    form = BenchmarkForm(deployments=_offered(request), initial={"deployment": deployment_id})
    return _list(request, form)


@page
@require_POST
def start(request: HttpRequest) -> HttpResponse:
    form = BenchmarkForm(request.POST, deployments=_offered(request))
    if not form.is_valid():
        return _list(request, form, status=400)
    try:
        made = benchmark_request(team=person(request).team, user=person(request), **form.wanted())
    except (InvalidInput, Conflict) as error:
        form.add_error(None, words_of(error))
        return _list(request, form, status=400)
    return redirect("benchmarks:benchmark", made.id)


@page
@require_safe
def benchmark(request: HttpRequest, benchmark_id: str) -> HttpResponse:
    benchmark = benchmark_get(team=person(request).team, benchmark_id=benchmark_id)
    results = measured(benchmark)
    context = {
        "benchmark": benchmark,
        "results": results,
        "charts": charts([(each.target.label, each) for each in results]),
        "is_over": benchmark.state in BENCHMARK_TERMINAL,
        "tab_title": tones.title(benchmark.state, f"benchmark {benchmark} · Enginehouse"),
    }
    return live_answer(
        request, page="benchmarks/benchmark.html", part="benchmarks/_benchmark.html",
        context=context,
    )  # fmt: skip


@page
@require_safe
def compare(request: HttpRequest) -> HttpResponse:
    ids = request.GET.getlist("id")
    benchmarks = benchmarks_to_compare(team=person(request).team, ids=ids)
    rows = _labelled(benchmarks)
    context = {"benchmarks": benchmarks, "rows": rows, "charts": charts(rows)}
    return render(request, "benchmarks/compare.html", context)


@page
@require_POST
def cancel(request: HttpRequest, benchmark_id: str) -> HttpResponse:
    benchmark = benchmark_get(team=person(request).team, benchmark_id=benchmark_id)
    benchmark_cancel(benchmark=benchmark)
    return redirect("benchmarks:benchmark", benchmark.id)


@page
@require_safe
def export(request: HttpRequest, benchmark_id: str) -> HttpResponseBase:
    benchmark = benchmark_get(team=person(request).team, benchmark_id=benchmark_id)
    return exported([benchmark], "json" if request.GET.get("format") == "json" else "csv")


def _list(request: HttpRequest, form: BenchmarkForm, *, status: int = 200) -> HttpResponse:
    list_query = list_query_in(request, sorts=_SORTS)
    benchmarks = benchmark_list(team=person(request).team)
    shown = page_in(request, sorted_rows(benchmarks, list_query.sort, _SORTS))
    context = {"form": form, "benchmarks": shown, "page": shown, "asked": list_query}
    return render(request, "benchmarks/list.html", context, status=status)


def _offered(request: HttpRequest) -> list[Deployment]:
    rows = Deployment.objects.filter(model__team=person(request).team)
    rows = rows.exclude(state__in=[*GONE, DeploymentState.INACTIVE]).select_related("model")
    return list(rows.defer("checkpoint", "spec").order_by("model__name", "name")[:_MOST_OFFERED])


def _labelled(benchmarks: Sequence[Benchmark]) -> list[tuple[str, Measured]]:
    return [
        (f"{each.target.label} · {run.name or run.id} · {run.created_at:%Y-%m-%d}", each)
        for run in benchmarks
        for each in measured(run)
    ]
