"""Addresses of `apps.fleet`: pages, `api` under /v1, `internal` under /internal/v1."""

from django.urls import URLPattern, path

from apps.fleet import api as rest
from apps.fleet import internal_api, views
from apps.rest import converters as _converters  # noqa: F401  (registers `<id:…>`)

app_name = "fleet"
urlpatterns: list[URLPattern] = [
    path("", views.nodes, name="list"),
]
api: list[URLPattern] = [
    path("nodes", rest.NodeListView.as_view(), name="nodes"),
    path("nodes/<id:node_id>", rest.NodeDetailView.as_view(), name="node"),
    path("nodes/<id:node_id>/cordon", rest.NodeCordonView.as_view()),
    path("nodes/<id:node_id>/uncordon", rest.NodeUncordonView.as_view()),
    path("instance_types", rest.InstanceTypeListView.as_view(), name="instance_types"),
]
internal: list[URLPattern] = [
    path("nodes/enroll", internal_api.nodes_enroll),
    path("gateways/enroll", internal_api.gateways_enroll),
]
