"""Addresses of the overview and of the probes."""

from django.urls import URLPattern, path

from apps.dashboard import rule_pages, views
from apps.dashboard.installation.api import InstallationView
from apps.dashboard.installation.views import installation

app_name = "dashboard"
urlpatterns: list[URLPattern] = [
    path("", views.overview, name="overview"),
    path("rules/", rule_pages.rules, name="rules"),
]
    path("settings/", installation, name="settings"),
probes: list[URLPattern] = [path("healthz", views.healthz)]
api: list[URLPattern] = [path("settings", InstallationView.as_view(), name="settings")]
