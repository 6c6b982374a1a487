from django.urls import URLPattern, path

from apps.builds import log_views, views
from apps.builds.api import (
    ArtifactDetailView,
    ArtifactListView,
    BuildCancelView,
    BuildDetailView,
    BuildListView,
    BuildLogsView,
    BuildPromoteView,
    BuildRetryView,
    BuildStepsView,
)
from apps.builds.comparisons import views as comparison_views
from apps.builds.comparisons.api import BuildComparisonView
from apps.builds.failures import views as failure_views
from apps.builds.failures.api import BuildApplyFixView, BuildFixView, BuildSupportBundleView
from apps.builds.forecasts import views as forecast_views
from apps.builds.forecasts.api import RevisionForecastView
from apps.builds.passports.api import ArtifactDownloadView, ArtifactPassportView
from apps.builds.pushes.api import (
    ArtifactPushCancelView,
    ArtifactPushDetailView,
    ArtifactPushListView,
    ArtifactPushRetryView,
)
from apps.rest import converters as _converters  # noqa: F401  (registers `<id:…>`)

app_name = "builds"
urlpatterns: list[URLPattern] = [
    path("", views.builds, name="list"),
    path("start/", views.start, name="start_new"),
    path("start/<str:config_id>/", views.start, name="start"),
    path("compare/", comparison_views.compare, name="compare"),
    path("forecast/", forecast_views.draft, name="forecast"),
    path(
        "forecast/<id:config_id>/<int:number>/",
        forecast_views.revision,
        name="forecast_of_revision",
    ),
    path("<int:number>/", views.build, name="build"),
    path("<int:number>/log/", log_views.build_log, name="log"),
    path("<int:number>/cancel/", views.cancel, name="cancel"),
    path("<int:number>/retry/", views.retry, name="retry"),
    path("<int:number>/promote/", views.promote, name="promote"),
    path("<int:number>/fix/", failure_views.fix, name="fix"),
    path("<int:number>/support-bundle/", failure_views.support_bundle, name="support_bundle"),
]
api: list[URLPattern] = [
    path("builds", BuildListView.as_view(), name="builds"),
    path("builds/<id:build_id>", BuildDetailView.as_view(), name="build"),
    path("builds/<id:build_id>/cancel", BuildCancelView.as_view(), name="build_cancel"),
    path("builds/<id:build_id>/retry", BuildRetryView.as_view(), name="build_retry"),
    path("builds/<id:build_id>/promote", BuildPromoteView.as_view(), name="build_promote"),
    path("builds/<id:build_id>/fix", BuildFixView.as_view(), name="build_fix"),
    path("builds/<id:build_id>/apply_fix", BuildApplyFixView.as_view(), name="build_apply_fix"),
    path(
        "builds/<id:build_id>/support_bundle",
        BuildSupportBundleView.as_view(),
        name="build_support_bundle",
    ),
    path("builds/<id:build_id>/steps", BuildStepsView.as_view(), name="build_steps"),
    path("builds/<id:build_id>/logs", BuildLogsView.as_view(), name="build_logs"),
    path("artifacts", ArtifactListView.as_view(), name="artifacts"),
    path("artifacts/<artifact:artifact_id>", ArtifactDetailView.as_view(), name="artifact"),
    path(
        "artifacts/<artifact:artifact_id>/passport",
        ArtifactPassportView.as_view(),
        name="artifact_passport",
    ),
    path(
        "artifacts/<artifact:artifact_id>/download",
        ArtifactDownloadView.as_view(),
        name="artifact_download",
    ),
    path(
        "artifacts/<artifact:artifact_id>/pushes",
        ArtifactPushListView.as_view(),
        name="artifact_pushes",
    ),
    path(
        "artifacts/<artifact:artifact_id>/pushes/<id:push_id>",
        ArtifactPushDetailView.as_view(),
        name="artifact_push",
    ),
    path(
        "artifacts/<artifact:artifact_id>/pushes/<id:push_id>/cancel",
        ArtifactPushCancelView.as_view(),
        name="artifact_push_cancel",
    ),
    path(
        "artifacts/<artifact:artifact_id>/pushes/<id:push_id>/retry",
        ArtifactPushRetryView.as_view(),
        name="artifact_push_retry",
    ),
    path("builds/<id:build_id>/comparison", BuildComparisonView.as_view(), name="build_comparison"),
    path(
        "configs/<id:config_id>/revisions/<int:number>/forecast",
        RevisionForecastView.as_view(),
        name="revision_forecast",
    ),
]
