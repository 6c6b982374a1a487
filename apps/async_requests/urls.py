from django.urls import URLPattern, path

from apps.async_requests import internal_api, views
from apps.async_requests.api import (
    AsyncRequestCancelView,
    AsyncRequestDetailView,
    AsyncRequestListView,
)
from apps.rest import converters as _converters  # noqa: F401  (registers `<request_id:…>`)

app_name = "async_requests"
urlpatterns: list[URLPattern] = [
    path("<id:model_id>/<id:deployment_id>/async/", views.async_requests, name="list"),
    path("async-requests/<request_id:request_id>/", views.async_request, name="request"),
    path("async-requests/<request_id:request_id>/cancel/", views.cancel, name="cancel"),
]
_DEPLOYMENT = "models/<id:model_id>/deployments/<id:deployment_id>"
_ONE = "async_requests/<request_id:request_id>"
api: list[URLPattern] = [
    path(f"{_DEPLOYMENT}/async_requests", AsyncRequestListView.as_view(), name="async_requests"),
    path(_ONE, AsyncRequestDetailView.as_view(), name="async_request"),
    path(f"{_ONE}/cancel", AsyncRequestCancelView.as_view(), name="async_request_cancel"),
]
internal: list[URLPattern] = [
    path("async_requests", internal_api.async_requests),
    path(_ONE, internal_api.async_request),
    path(f"{_ONE}/cancel", internal_api.async_request_canceled),
    path(f"{_ONE}/output", internal_api.async_request_output),
    path("async_queues/<id:deployment_id>", internal_api.async_queue),
]
