"""Addresses of `apps.builds`: pages, `api` under /v1, `internal` under /internal/v1."""

from django.urls import URLPattern, path

from apps.builds import views

app_name = "builds"
urlpatterns: list[URLPattern] = [
    path("", views.builds, name="list"),
    path("start/", views.start, name="start_new"),
    path("start/<str:config_id>/", views.start, name="start"),
    path("<int:number>/", views.build, name="build"),
    path("<int:number>/log/", views.build_log, name="log"),
    path("<int:number>/cancel/", views.cancel, name="cancel"),
    path("<int:number>/retry/", views.retry, name="retry"),
    path("<int:number>/fix/", views.fix, name="fix"),
]
api: list[URLPattern] = []
internal: list[URLPattern] = []
