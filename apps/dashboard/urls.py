"""Addresses of the overview and of the probes."""

from django.urls import URLPattern, path

from apps.dashboard import rule_pages, views

app_name = "dashboard"
urlpatterns: list[URLPattern] = [
    path("", views.overview, name="overview"),
    path("rules/", rule_pages.rules, name="rules"),
]
probes: list[URLPattern] = [path("healthz", views.healthz)]
