"""Addresses of `apps.secrets`: pages, `api` under /v1, `internal` under /internal/v1."""

from django.urls import URLPattern, path

from apps.rest import converters as _converters  # noqa: F401  (registers `<name:…>`)
from apps.secrets import views
from apps.secrets.api import SecretDetailView, SecretListView

app_name = "secrets"
urlpatterns: list[URLPattern] = [
    path("", views.secrets, name="list"),
    path("<str:secret_id>/delete/", views.delete, name="delete"),
]
api: list[URLPattern] = [
    path("secrets", SecretListView.as_view(), name="secrets"),
    path("secrets/<name:name>", SecretDetailView.as_view(), name="secret"),
    path("teams/<id:team_id>/secrets", SecretListView.as_view(), name="team_secrets"),
    path("teams/<id:team_id>/secrets/<name:name>", SecretDetailView.as_view(), name="team_secret"),
]
internal: list[URLPattern] = []
