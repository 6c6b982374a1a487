from django.http import HttpResponse, HttpResponseBase, JsonResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rest_views import TeamView
from apps.benchmarks.examples import CSV
from apps.benchmarks.models import Benchmark
from apps.benchmarks.results import to_csv
from apps.benchmarks.selectors import benchmark_get, benchmark_list, benchmarks_to_compare
from apps.benchmarks.serializers import (
    BenchmarkBody,
    BenchmarkObject,
    BenchmarkPage,
    BenchmarkQuery,
    ComparedBenchmarksObject,
    CompareQuery,
    ExportQuery,
)
from apps.benchmarks.services.requests import benchmark_cancel, benchmark_request
from apps.rest.examples import file_shown_as
from apps.rest.paging import page_of
from apps.rest.serializers import Error, validated

_RESTS = OpenApiResponse(Error, description="A deployment answers nothing now.")
_UNKNOWN = OpenApiResponse(Error, description="One of them is not there, or is someone else's.")
_OVER = OpenApiResponse(Error, description="The benchmark has ended.")


class BenchmarkListView(TeamView):
    @extend_schema(parameters=[BenchmarkQuery], responses=BenchmarkPage)
    def get(self, request: Request) -> Response:
        """Return the team's benchmarks, newest first."""
        query = validated(BenchmarkQuery, request.query_params)
        rows = benchmark_list(team=self.team, deployment_id=query.pop("deployment_id", ""))
        return Response(page_of(rows, **query).to_json(BenchmarkObject))

    @extend_schema(request=BenchmarkBody, responses={201: BenchmarkObject, 409: _RESTS})
    def post(self, request: Request) -> Response:
        """Measure a deployment, or two side by side; a control worker carries it out."""
        body = validated(BenchmarkBody, request.data)
        benchmark = benchmark_request(team=self.team, user=self.user, **body)
        return Response(BenchmarkObject(benchmark).data, status=201)


class BenchmarkView(TeamView):
    def benchmark(self) -> Benchmark:
        return benchmark_get(team=self.team, benchmark_id=self.kwargs["benchmark_id"])


class BenchmarkDetailView(BenchmarkView):
    @extend_schema(responses=BenchmarkObject)
    def get(self, request: Request, benchmark_id: str) -> Response:
        """Return how far a benchmark is, and what it measured so far."""
        return Response(BenchmarkObject(self.benchmark()).data)


class BenchmarkCancelView(BenchmarkView):
    @extend_schema(request=None, responses={200: BenchmarkObject, 409: _OVER})
    def post(self, request: Request, benchmark_id: str) -> Response:
        """Stop a benchmark, within seconds where it runs; what it measured is kept."""
        return Response(BenchmarkObject(benchmark_cancel(benchmark=self.benchmark())).data)


class BenchmarkExportView(BenchmarkView):
    @extend_schema(
        parameters=[ExportQuery],
        responses={(200, "text/csv"): file_shown_as(OpenApiTypes.STR, CSV)},
    )
    def get(self, request: Request, benchmark_id: str) -> HttpResponseBase:
        """Return what it measured as a file: CSV, a line for each level, or JSON."""
        form = validated(ExportQuery, request.query_params)["format"]
        return exported([self.benchmark()], form)


class BenchmarkCompareView(TeamView):
    @extend_schema(
        parameters=[CompareQuery], responses={200: ComparedBenchmarksObject, 404: _UNKNOWN}
    )
    def get(self, request: Request) -> Response:
        """Return several benchmarks with what they measured."""
        ids = validated(CompareQuery, request.query_params)["ids"].split(",")
        benchmarks = benchmarks_to_compare(team=self.team, ids=[each.strip() for each in ids])
        return Response(ComparedBenchmarksObject({"benchmarks": benchmarks}).data)


def exported(benchmarks: list[Benchmark], form: str) -> HttpResponseBase:
    name = f"benchmark-{'-'.join(each.id for each in benchmarks)}.{form}"
    answer: HttpResponseBase
    if form == "json":
        answer = JsonResponse({"benchmarks": [BenchmarkObject(each).data for each in benchmarks]})
    else:
        answer = HttpResponse(to_csv(benchmarks), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer
