from django.urls import URLPattern, path

from apps.rest import converters as _converters  # noqa: F401  (registers `<id:…>`)
from apps.telemetry.series import api as series

app_name = "series"
api: list[URLPattern] = [
    path("metrics/series", series.CatalogueView.as_view()),
    path("metrics/query", series.QueryView.as_view()),
    path("metrics/query.csv", series.QueryCsvView.as_view()),
    path("teams/<id:team_id>/metrics/query", series.QueryView.as_view()),
    path("teams/<id:team_id>/metrics/query.csv", series.QueryCsvView.as_view()),
]
