"""The gateway's settings."""

from controlplane.process_settings.base import variable
from controlplane.process_settings.common import HOSTS, EnrolledSettings
from controlplane.process_settings.kinds import HttpUrl


class GatewayVariables(EnrolledSettings):
    """What one gateway reads from its environment."""

    group = HOSTS
    read_by = "gateway"

    control_plane_url: HttpUrl = variable("CONTROL_PLANE_URL")

    routes_hours: float = variable("GATEWAY_ROUTES_HOURS", 24.0, gt=0, allow_inf_nan=False)
    """How long a gateway that is cut off from its control plane serves by the routes and keys that
    it has; then it answers 503."""
