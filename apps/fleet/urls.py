"""Addresses of `apps.fleet`: pages, `api` under /v1, `internal` under /internal/v1."""

from django.urls import URLPattern

app_name = "fleet"
urlpatterns: list[URLPattern] = []
api: list[URLPattern] = []
internal: list[URLPattern] = []
