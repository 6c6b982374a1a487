from django.urls import URLPattern, path

from apps.configs.calibration_sets import views
from apps.configs.calibration_sets.api import (
    CalibrationHeadView,
    CalibrationSetDetailView,
    CalibrationSetListView,
    PreviewDetailView,
    PreviewListView,
)
from apps.rest import converters as _converters  # noqa: F401  (registers `<id:…>`)

app_name = "calibration_sets"
UPLOAD_PATHS = ("/v1/calibration_sets", "/calibration-sets/")
"""Where a body may be as large as a set."""
urlpatterns: list[URLPattern] = [
    path("", views.sets, name="list"),
    path("previews/", views.start_preview, name="start_preview"),
    path("previews/<id:preview_id>/", views.preview, name="preview"),
    path("<id:set_id>/", views.calibration_set, name="set"),
    path("<id:set_id>/delete/", views.delete, name="delete"),
]
api: list[URLPattern] = [
    path("calibration_sets", CalibrationSetListView.as_view(), name="calibration_sets"),
    path("calibration_sets/<id:set_id>", CalibrationSetDetailView.as_view(), name="set"),
    path("calibration_sets/<id:set_id>/rows", CalibrationHeadView.as_view(), name="set_rows"),
    path("calibration_previews", PreviewListView.as_view(), name="previews"),
    path("calibration_previews/<id:preview_id>", PreviewDetailView.as_view(), name="preview"),
]
