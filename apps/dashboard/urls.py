from django.urls import URLPattern, path

from apps.dashboard import config_reference, rule_pages, views
from apps.dashboard.docs.views import document
from apps.dashboard.installation.api import InstallationView
from apps.dashboard.installation.views import installation
from apps.dashboard.rest_reference.views import rest_index, rest_operation
from apps.dashboard.runtimes.api import RuntimeDetailView, RuntimeListView
from apps.dashboard.runtimes.views import runtimes
from apps.dashboard.search.views import search

app_name = "dashboard"
urlpatterns: list[URLPattern] = [
    path("", views.overview, name="overview"),
    path("incidents/", views.incidents, name="incidents"),
    path("search/", search, name="search"),
    path("rules/", rule_pages.rules, name="rules"),
    path("runtimes/", runtimes, name="runtimes"),
    path("docs/", document, name="docs"),
    path("docs/<path:path>.html", document, name="document"),
    path("docs/config/", config_reference.config_reference, name="config_reference"),
    path("schemas/config.json", config_reference.schema, name="config_schema"),
    path("docs/rest/", rest_index, name="rest"),
    path("docs/rest/<str:operation_id>/", rest_operation, name="rest_operation"),
    path("first-steps/hide/", views.hide_first_steps, name="hide_first_steps"),
    path("settings/", installation, name="settings"),
]
api: list[URLPattern] = [
    path("runtimes", RuntimeListView.as_view(), name="runtimes"),
    path("runtimes/<str:runtime>", RuntimeDetailView.as_view(), name="runtime"),
    path("settings", InstallationView.as_view(), name="settings"),
]
probes: list[URLPattern] = [
    path("healthz", views.readyz),
    path("readyz", views.readyz),
    path("livez", views.livez),
]
