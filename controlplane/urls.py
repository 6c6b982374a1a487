"""Every address of the web process: pages, `/v1` for people's programs, `/internal/v1` for ours."""

from django.urls import URLPattern, include, path

from apps.accounts import urls as accounts
from apps.alerts import urls as alerts
from apps.async_requests import urls as async_requests
from apps.benchmarks import urls as benchmarks
from apps.builds import urls as builds
from apps.configs import urls as configs
from apps.configs.calibration_sets import urls as calibration_sets
from apps.configs.lookahead_tunings import urls as lookahead_tunings
from apps.configs.traffic_samples import urls as traffic_samples
from apps.dashboard import urls as dashboard
from apps.deployments import urls as deployments
from apps.deployments.remote_code import urls as remote_code
from apps.fleet import urls as fleet
from apps.leases import urls as leases
from apps.rest import urls as rest
from apps.routes import urls as routes
from apps.secrets import urls as secrets
from apps.telemetry.series import urls as series

_APPS = (
    accounts,
    leases,
    secrets,
    fleet,
    series,
    configs,
    calibration_sets,
    lookahead_tunings,
    traffic_samples,
    builds,
    deployments,
    remote_code,
    routes,
    alerts,
    async_requests,
    benchmarks,
    dashboard,
)


def _paths(kind: str) -> list[URLPattern]:
    return [each for app in _APPS for each in getattr(app, kind, ())]


handler500 = "apps.ui.server_error.server_error"
urlpatterns = [
    # First: each is asked every second by many, and tried in this order.
    path("internal/v1/", include(_paths("internal"))),
    path("", include("apps.dashboard.urls")),
    path("", include("apps.accounts.urls")),
    path("sign-in/", include("allauth.socialaccount.providers.openid_connect.urls")),
    path("secrets/", include("apps.secrets.urls")),
    path("alerts/", include("apps.alerts.urls")),
    path("benchmarks/", include("apps.benchmarks.urls")),
    path("nodes/", include("apps.fleet.urls")),
    path("configs/", include("apps.configs.urls")),
    path("calibration-sets/", include("apps.configs.calibration_sets.urls")),
    path("lookahead-tunings/", include("apps.configs.lookahead_tunings.urls")),
    path("traffic-samples/", include("apps.configs.traffic_samples.urls")),
    path("builds/", include("apps.builds.urls")),
    path("artifacts/", include("apps.builds.artifacts.urls")),
    path("models/", include("apps.async_requests.urls")),
    path("models/", include("apps.deployments.urls")),
    path("remote-code/", include("apps.deployments.remote_code.urls")),
    *deployments.node_page,
    *deployments.usage_pages,
    *rest.bare,
    path("v1/", include([*rest.api, *_paths("api"), *rest.last])),
    *deployments.metrics_page,
    *dashboard.probes,
]
