"""Addresses of `apps.fleet`: pages, `api` under /v1, `internal` under /internal/v1."""

from django.urls import URLPattern, path

from apps.fleet import internal_api, views

app_name = "fleet"
urlpatterns: list[URLPattern] = [
    path("", views.nodes, name="list"),
]
api: list[URLPattern] = []
internal: list[URLPattern] = [
    path("nodes/enroll", internal_api.nodes_enroll),
    path("gateways/enroll", internal_api.gateways_enroll),
]
