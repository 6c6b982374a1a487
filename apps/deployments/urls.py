"""Addresses of `apps.deployments`: pages, `api` under /v1, `internal` under /internal/v1."""

from django.urls import URLPattern, path

from apps.deployments import internal_api, views

app_name = "deployments"
urlpatterns: list[URLPattern] = [
    path("", views.deployments, name="list"),
    path("deploy/<int:number>/", views.deploy, name="deploy"),
    path("<str:model_id>/<str:deployment_id>/", views.deployment, name="deployment"),
    path("<str:model_id>/<str:deployment_id>/series/", views.series, name="series"),
    path("<str:model_id>/<str:deployment_id>/activate/", views.activate, name="activate"),
    path("<str:model_id>/<str:deployment_id>/deactivate/", views.deactivate, name="deactivate"),
    path("<str:model_id>/<str:deployment_id>/retry/", views.retry, name="retry"),
    path("<str:model_id>/<str:deployment_id>/promote/", views.promote, name="promote"),
]
api: list[URLPattern] = []
internal: list[URLPattern] = [
    path("nodes/observe", internal_api.nodes_observe),
    path("nodes/logs", internal_api.nodes_logs),
]
