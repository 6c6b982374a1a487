from django.urls import URLPattern, path

from apps.configs import revision_views, start_views, views
from apps.configs.api import (
    CheckView,
    ConfigDetailView,
    ConfigListView,
    ExportView,
    ImportView,
    RevisionDetailView,
    RevisionListView,
)
from apps.rest import converters as _converters  # noqa: F401  (registers `<id:…>`)

app_name = "configs"
urlpatterns: list[URLPattern] = [
    path("", views.configs, name="list"),
    path("start/", start_views.start, name="start"),
    path("start/model/", start_views.read, name="read"),
    path("start/pasted/", start_views.paste, name="paste"),
    path("new/", views.new, name="new"),
    path("new/fit/", views.fit, name="fit_new"),
    path("new/check/", views.check, name="check_new"),
    path("<str:config_id>/", views.editor, name="editor"),
    path("<str:config_id>/check/", views.check, name="check"),
    path("<str:config_id>/fit/", views.fit, name="fit"),
    path("<str:config_id>/rename/", revision_views.rename, name="rename"),
    path("<str:config_id>/revisions/", revision_views.history, name="history"),
    path("<str:config_id>/revisions/<int:number>/restore/", revision_views.restore, name="restore"),
    path("<str:config_id>/revisions/<int:number>/", views.revision, name="revision"),
]
api: list[URLPattern] = [
    path("configs", ConfigListView.as_view(), name="configs"),
    path("configs/check", CheckView.as_view(), name="check"),
    path("configs/import", ImportView.as_view(), name="import"),
    path("configs/<id:config_id>", ConfigDetailView.as_view(), name="config"),
    path("configs/<id:config_id>/export", ExportView.as_view(), name="export"),
    path("configs/<id:config_id>/revisions", RevisionListView.as_view(), name="revisions"),
    path(
        "configs/<id:config_id>/revisions/<int:number>",
        RevisionDetailView.as_view(),
        name="revision",
    ),
]
