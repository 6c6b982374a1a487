"""Addresses of `apps.deployments`: pages, `api` under /v1, `internal` under /internal/v1."""

from django.urls import URLPattern

app_name = "deployments"
urlpatterns: list[URLPattern] = []
api: list[URLPattern] = []
internal: list[URLPattern] = []
