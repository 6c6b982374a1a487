"""Addresses of `apps.accounts`: pages, `api` under /v1, `internal` under /internal/v1."""

from django.urls import URLPattern, path

from apps.accounts import views
from apps.accounts.api import (
    ApiKeyDetailView,
    ApiKeyListView,
    MeView,
    TeamApiKeyListView,
    TeamDetailView,
    TeamListView,
)
from apps.rest import converters as _converters  # noqa: F401  (registers `<id:…>`)

app_name = "accounts"
urlpatterns: list[URLPattern] = [
    path("sign-in/", views.sign_in_page, name="sign_in"),
    path("sign-in/<str:token>/", views.sign_in_link, name="sign_in_link"),
    path("sign-out/", views.sign_out_page, name="sign_out"),
    path("keys/", views.key_list, name="keys"),
    path("keys/create/", views.key_create, name="key_create"),
    path("keys/<str:key_id>/revoke/", views.key_revoke, name="key_revoke"),
]
api: list[URLPattern] = [
    path("teams", TeamListView.as_view(), name="teams"),
    path("teams/<id:team_id>", TeamDetailView.as_view(), name="team"),
    path("teams/<id:team_id>/api_keys", TeamApiKeyListView.as_view(), name="team_api_keys"),
    path("users/me", MeView.as_view(), name="me"),
    path("api_keys", ApiKeyListView.as_view(), name="api_keys"),
    path("api_keys/<id:prefix>", ApiKeyDetailView.as_view(), name="api_key"),
]
internal: list[URLPattern] = []
