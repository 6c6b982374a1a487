from django.urls import URLPattern, path

from apps.benchmarks import views
from apps.benchmarks.api import (
    BenchmarkCancelView,
    BenchmarkCompareView,
    BenchmarkDetailView,
    BenchmarkExportView,
    BenchmarkListView,
)
from apps.rest import converters as _converters  # noqa: F401  (registers `<id:…>`)

app_name = "benchmarks"
urlpatterns: list[URLPattern] = [
    path("", views.benchmarks, name="list"),
    path("start/", views.start, name="start"),
    path("compare/", views.compare, name="compare"),
    path("<str:benchmark_id>/", views.benchmark, name="benchmark"),
    path("<str:benchmark_id>/cancel/", views.cancel, name="cancel"),
    path("<str:benchmark_id>/export/", views.export, name="export"),
]
_ONE = "benchmarks/<id:benchmark_id>"
api: list[URLPattern] = [
    path("benchmarks", BenchmarkListView.as_view(), name="benchmarks"),
    path("benchmarks/compare", BenchmarkCompareView.as_view(), name="benchmark_compare"),
    path(_ONE, BenchmarkDetailView.as_view(), name="benchmark"),
    path(f"{_ONE}/cancel", BenchmarkCancelView.as_view(), name="benchmark_cancel"),
    path(f"{_ONE}/export", BenchmarkExportView.as_view(), name="benchmark_export"),
]
