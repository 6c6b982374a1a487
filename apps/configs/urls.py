"""Addresses of `apps.configs`: pages, `api` under /v1, `internal` under /internal/v1."""

from django.urls import URLPattern

app_name = "configs"
urlpatterns: list[URLPattern] = []
api: list[URLPattern] = []
internal: list[URLPattern] = []
