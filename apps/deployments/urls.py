from django.urls import URLPattern, path

from apps.deployments import api as deployments
from apps.deployments import internal_api, log_views, views
from apps.deployments.autoscaling import api as scaling
from apps.deployments.autoscaling import views as scaling_views
from apps.deployments.changing import api as changing
from apps.deployments.changing import views as change_views
from apps.deployments.deploying.views import deploy, deploy_effect
from apps.deployments.environments import api as environments
from apps.deployments.environments import rollback_views as rollback
from apps.deployments.environments import views as place_views
from apps.deployments.environments.rolling import api as rolling
from apps.deployments.environments.rolling import views as roll_views
from apps.deployments.environments.rolling.answers import api as answers
from apps.deployments.metrics import api as metrics
from apps.deployments.metrics import hosted_api as hosted
from apps.deployments.metrics import views as metric_views
from apps.deployments.nodes import api as nodes
from apps.deployments.nodes import views as node_views
from apps.deployments.served_models import api as models
from apps.deployments.served_models import views as model_views
from apps.deployments.try_it import views as try_views
from apps.deployments.usage import api as usage
from apps.deployments.usage import views as usage_views
from apps.rest import converters as _converters  # noqa: F401  (registers `<id:…>`)

app_name = "deployments"
_SCHEDULES = "<id:model_id>/environments/<name:name>/schedules/"
urlpatterns: list[URLPattern] = [
    path("", views.deployments, name="list"),
    path("deploy/<int:number>/", deploy, name="deploy"),
    path("deploy/<int:number>/effect/", deploy_effect, name="deploy_effect"),
    path("try/", try_views.try_it, name="try"),
    path("try/wake/", try_views.wake, name="wake"),
    path("<id:model_id>/call/<name:kind>/<name:name>/<path:route>", try_views.call, name="call"),
    path("<id:model_id>/", model_views.model, name="model"),
    path("<id:model_id>/delete/", model_views.delete, name="model_delete"),
    path(_SCHEDULES, scaling_views.schedules, name="schedules"),
    path(f"{_SCHEDULES}delete/", scaling_views.schedule_delete, name="schedule_delete"),
    path(f"{_SCHEDULES}timezone/", scaling_views.schedules_timezone, name="schedules_timezone"),
    path("<id:model_id>/environments/create/", place_views.create, name="environment_create"),
    path(
        "<id:model_id>/environments/<name:name>/delete/",
        place_views.delete,
        name="environment_delete",
    ),
    path("<id:model_id>/environments/<name:name>/roll-back/", rollback.roll_back, name="roll_back"),
    path(
        "<id:model_id>/environments/<name:name>/promotion/<name:action>/",
        roll_views.promotion,
        name="promotion",
    ),
    path("<id:model_id>/environments/<name:name>/moves/", roll_views.moves, name="moves"),
    path("<id:model_id>/<id:deployment_id>/", views.deployment, name="deployment"),
    path("<id:model_id>/<id:deployment_id>/series/", metric_views.series, name="series"),
    path("<id:model_id>/<id:deployment_id>/log/", log_views.deployment_log, name="log"),
    path(
        "<id:model_id>/<id:deployment_id>/log/file/",
        log_views.deployment_log_file,
        name="log_file",
    ),
    path("<id:model_id>/<id:deployment_id>/activate/", views.activate, name="activate"),
    path("<id:model_id>/<id:deployment_id>/deactivate/", views.deactivate, name="deactivate"),
    path("<id:model_id>/<id:deployment_id>/delete/", views.delete, name="delete"),
    path("<id:model_id>/<id:deployment_id>/rename/", views.rename, name="rename"),
    path("<id:model_id>/<id:deployment_id>/retry/", views.retry, name="retry"),
    path("<id:model_id>/<id:deployment_id>/promote/", views.promote, name="promote"),
    path("<id:model_id>/<id:deployment_id>/change/", change_views.change_settings, name="change"),
    path(
        "<id:model_id>/<id:deployment_id>/change/effect/",
        change_views.change_effect,
        name="change_effect",
    ),
    path("<id:model_id>/<id:deployment_id>/size/", scaling_views.resize, name="resize"),
    path("<id:model_id>/<id:deployment_id>/full/", views.set_backpressure, name="backpressure"),
]
usage_pages: list[URLPattern] = [
    path("usage/", usage_views.usage, name="usage"),
    path("usage/price/", usage_views.set_price, name="set_price"),
]
_MODEL = "models/<id:model_id>"
_DEPLOYMENT = f"{_MODEL}/deployments/<id:deployment_id>"
_ENVIRONMENT = f"{_MODEL}/environments/<name:name>"
api: list[URLPattern] = [
    path("nodes/<id:node_id>", nodes.NodeDetailView.as_view(), name="node"),
    path("nodes/<id:node_id>/replicas", nodes.NodeReplicasView.as_view()),
    path("nodes/<id:node_id>/failed_starts", nodes.NodeFailedStartsView.as_view()),
    path("usage", usage.UsageView.as_view()),
    path("usage.csv", usage.UsageCsvView.as_view()),
    path("prices", usage.PriceListView.as_view()),
    path("models", models.ModelListView.as_view(), name="models"),
    path("teams/<id:team_id>/models", models.ModelListView.as_view(), name="team_models"),
    path(_MODEL, models.ModelDetailView.as_view(), name="model"),
    path(f"{_MODEL}/metrics", hosted.ModelMetricsView.as_view()),
    path(f"{_DEPLOYMENT}/metrics", hosted.DeploymentMetricsView.as_view()),
    path(f"{_ENVIRONMENT}/metrics", hosted.EnvironmentMetricsView.as_view()),
    path(f"{_MODEL}/deployments", deployments.DeploymentListView.as_view(), name="deployments"),
    path(_DEPLOYMENT, deployments.DeploymentDetailView.as_view(), name="model_deployment"),
    path(f"{_DEPLOYMENT}/autoscaling_settings", deployments.AutoscalingView.as_view()),
    path(f"{_DEPLOYMENT}/request_backpressure_settings", deployments.BackpressureView.as_view()),
    path(f"{_DEPLOYMENT}/scaling_decisions", scaling.ScalingDecisionsView.as_view()),
    path(f"{_DEPLOYMENT}/activate", deployments.ActivateView.as_view()),
    path(f"{_DEPLOYMENT}/deactivate", deployments.DeactivateView.as_view()),
    path(f"{_DEPLOYMENT}/retry", deployments.RetryView.as_view()),
    path(f"{_DEPLOYMENT}/promote", deployments.PromoteView.as_view()),
    path(f"{_DEPLOYMENT}/change_settings", changing.ChangeSettingsView.as_view()),
    path(f"{_DEPLOYMENT}/config", deployments.ConfigView.as_view()),
    path(f"{_DEPLOYMENT}/logs", deployments.LogsView.as_view()),
    path(f"{_DEPLOYMENT}/replicas", deployments.ReplicasView.as_view()),
    path(f"{_DEPLOYMENT}/failed_starts", deployments.FailedStartsView.as_view()),
    path(f"{_MODEL}/environments", environments.EnvironmentListView.as_view()),
    path(_ENVIRONMENT, environments.EnvironmentDetailView.as_view()),
    path(f"{_ENVIRONMENT}/promote", environments.EnvironmentPromoteView.as_view()),
    path(f"{_ENVIRONMENT}/roll_back", environments.EnvironmentRollBackView.as_view()),
    path(f"{_ENVIRONMENT}/cancel_promotion", rolling.EnvironmentCancelPromotionView.as_view()),
    path(f"{_ENVIRONMENT}/pause_promotion", rolling.EnvironmentPausePromotionView.as_view()),
    path(f"{_ENVIRONMENT}/resume_promotion", rolling.EnvironmentResumePromotionView.as_view()),
    path(
        f"{_ENVIRONMENT}/force_cancel_promotion",
        rolling.EnvironmentForceCancelPromotionView.as_view(),
    ),
    path(
        f"{_ENVIRONMENT}/force_roll_forward_promotion",
        rolling.EnvironmentForceRollForwardPromotionView.as_view(),
    ),
    path(f"{_ENVIRONMENT}/promotion_events", rolling.EnvironmentPromotionEventsView.as_view()),
    path(f"{_ENVIRONMENT}/answer_guard", answers.EnvironmentAnswerGuardView.as_view()),
    path(f"{_ENVIRONMENT}/answer_check", answers.EnvironmentAnswerCheckView.as_view()),
    path(f"{_ENVIRONMENT}/activate", environments.EnvironmentActivateView.as_view()),
    path(f"{_ENVIRONMENT}/deactivate", environments.EnvironmentDeactivateView.as_view()),
]
internal: list[URLPattern] = [
    path("nodes/observe", internal_api.nodes_observe),
    path("nodes/logs", internal_api.nodes_logs),
]
node_page: list[URLPattern] = [
    path("nodes/<id:node_id>/", node_views.node, name="node_page"),
    path("nodes/<id:node_id>/remove/", node_views.remove, name="node_remove"),
    path(
        "nodes/<id:node_id>/failed-starts/clear/",
        node_views.clear_failed_starts,
        name="node_clear_failed_starts",
    ),
]
metrics_page: list[URLPattern] = [
    path("metrics", metrics.MetricsView.as_view(), name="metrics"),
    path("metrics/targets", metrics.TargetsView.as_view(), name="metrics_targets"),
]
