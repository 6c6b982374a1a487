"""Addresses of `apps.accounts`: pages, `api` under /v1, `internal` under /internal/v1."""

from django.urls import URLPattern

app_name = "accounts"
urlpatterns: list[URLPattern] = []
api: list[URLPattern] = []
internal: list[URLPattern] = []
