from django.urls import URLPattern, path

from apps.rest import converters as _converters  # noqa: F401  (registers `<name:…>`)
from apps.secrets import views
from apps.secrets.api import (
    SecretDetailView,
    SecretListView,
    SecretTestDetailView,
    SecretTestListView,
    SecretTestStartView,
)

app_name = "secrets"
urlpatterns: list[URLPattern] = [
    path("", views.secrets, name="list"),
    path("<str:secret_id>/", views.secret, name="secret"),
    path("<str:secret_id>/expiry/", views.expire, name="expire"),
    path("<str:secret_id>/test/", views.test, name="test"),
    path("<str:secret_id>/delete/", views.delete, name="delete"),
]
_ONE = "secrets/<name:name>"
_TESTS = (
    ("test", SecretTestStartView, "secret_test"),
    ("tests", SecretTestListView, "secret_tests"),
    ("tests/<id:test_id>", SecretTestDetailView, "secret_test_detail"),
)
api: list[URLPattern] = [
    path("secrets", SecretListView.as_view(), name="secrets"),
    path(_ONE, SecretDetailView.as_view(), name="secret"),
    *(path(f"{_ONE}/{rest}", view.as_view(), name=name) for rest, view, name in _TESTS),
    path("teams/<id:team_id>/secrets", SecretListView.as_view(), name="team_secrets"),
    path("teams/<id:team_id>/secrets/<name:name>", SecretDetailView.as_view(), name="team_secret"),
]
