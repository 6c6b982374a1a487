"""Addresses of `apps.builds`: pages, `api` under /v1, `internal` under /internal/v1."""

from django.urls import URLPattern

app_name = "builds"
urlpatterns: list[URLPattern] = []
api: list[URLPattern] = []
internal: list[URLPattern] = []
