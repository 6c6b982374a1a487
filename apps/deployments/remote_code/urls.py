from django.urls import URLPattern, path

from apps.deployments.remote_code import views
from apps.deployments.remote_code.api import GrantDetailView, GrantListView, GrantRevokeView
from apps.rest import converters as _converters  # noqa: F401  (registers `<id:…>`)

app_name = "remote_code"
urlpatterns: list[URLPattern] = [
    path("", views.grants, name="list"),
    path("<id:grant_id>/revoke/", views.revoke, name="revoke"),
]
api: list[URLPattern] = [
    path("remote_code_grants", GrantListView.as_view(), name="remote_code_grants"),
    path("remote_code_grants/<id:grant_id>", GrantDetailView.as_view(), name="remote_code_grant"),
    path("remote_code_grants/<id:grant_id>/revoke", GrantRevokeView.as_view()),
]
