"""The gateway's settings."""

from controlplane.process_settings.base import variable
from controlplane.process_settings.common import HOSTS, LOGS, EnrolledSettings, TracedSettings
from controlplane.process_settings.kinds import HttpUrl


class GatewayVariables(EnrolledSettings, TracedSettings):
    """What one gateway reads from its environment."""

    group = HOSTS
    read_by = "gateway"

    control_plane_url: HttpUrl = variable("CONTROL_PLANE_URL")

    routes_hours: float = variable("GATEWAY_ROUTES_HOURS", 24.0, gt=0, allow_inf_nan=False)
    """How long a gateway that is cut off from its control plane serves by the routes and keys that
    it has; then it answers 503."""

    traces_share: float = variable("TRACES_SHARE", 1.0, ge=0, le=1, group=LOGS)
    """Which part of the requests is traced whose client does not say it, of 1. A client that sends
    a `traceparent` decides by its flag."""
