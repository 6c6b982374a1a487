from django.urls import URLPattern, path

from apps.configs.lookahead_tunings import views
from apps.configs.lookahead_tunings.api import (
    TuningApplyView,
    TuningCancelView,
    TuningDetailView,
    TuningListView,
)
from apps.rest import converters as _converters  # noqa: F401  (registers `<id:…>`)

app_name = "lookahead_tunings"
urlpatterns: list[URLPattern] = [
    path("", views.tunings, name="list"),
    path("<id:tuning_id>/", views.tuning, name="tuning"),
    path("<id:tuning_id>/cancel/", views.cancel, name="cancel"),
    path("<id:tuning_id>/apply/", views.apply, name="apply"),
]
api: list[URLPattern] = [
    path("lookahead_tunings", TuningListView.as_view(), name="lookahead_tunings"),
    path("lookahead_tunings/<id:tuning_id>", TuningDetailView.as_view(), name="tuning"),
    path(
        "lookahead_tunings/<id:tuning_id>/cancel", TuningCancelView.as_view(), name="tuning_cancel"
    ),
    path("lookahead_tunings/<id:tuning_id>/apply", TuningApplyView.as_view(), name="tuning_apply"),
]
