from enum import StrEnum

from controlplane.process_settings.base import variable
from controlplane.process_settings.common import HOSTS, LOGS, EnrolledSettings, TracedSettings
from controlplane.process_settings.kinds import HttpUrl

SESSION_HEADER = "x-session-id"


class ReplicaChoice(StrEnum):
    """By what a gateway chooses among the replicas of a deployment."""

    PREFIX = "prefix"
    LEAST_LOADED = "least_loaded"
    RANDOM = "random"


class GatewayVariables(EnrolledSettings, TracedSettings):
    """What one gateway reads from its environment."""

    group = HOSTS
    read_by = "gateway"

    control_plane_url: HttpUrl = variable("CONTROL_PLANE_URL")

    routes_hours: float = variable("GATEWAY_ROUTES_HOURS", 24.0, gt=0, allow_inf_nan=False)
    """How long a gateway that is cut off from its control plane serves by the routes and keys that
    it has; then it answers 503."""

    replica_choice: ReplicaChoice = variable("GATEWAY_REPLICA_CHOICE", ReplicaChoice.PREFIX)
    """By what a replica is chosen: `prefix` (where most of the prompt is known), `least_loaded`
    or `random`."""

    moves_unanswered: bool = variable("GATEWAY_MOVES_UNANSWERED", True)
    """Whether a request that an engine had when it stopped is asked of another replica, once,
    while nothing of an answer has come. It may run in part twice; it is counted once."""

    waiting_requests: int = variable("GATEWAY_WAITING_REQUESTS", 1024, ge=1, le=1_000_000)
    """How many requests wait for one deployment that wakes up, or whose replicas are all busy; one
    more is answered with 429. A start of 20 s at 200 requests a second takes 4,000."""

    session_header: str = variable(
        "GATEWAY_SESSION_HEADER", SESSION_HEADER, pattern=r"^[a-z0-9-]{1,64}$"
    )
    """The header by which a client names a session, whose requests go to one replica."""

    processes: int = variable("GATEWAY_PROCESSES", 1, ge=1, le=64, read_by="gateway, up")
    """How many processes serve on this gateway's socket, each on a core of its own. They enroll
    each for itself: `ENROLLMENT_TOKEN` holds as many tokens, with commas between them."""

    metrics_port: int | None = variable("GATEWAY_METRICS_PORT", None, ge=1, le=65000, shown="none")
    """Where each process answers besides, so that its `/metrics` are its own: the first here, the
    second at the next port, and so on."""

    traces_share: float = variable("TRACES_SHARE", 1.0, ge=0, le=1, group=LOGS)
    """Which part of the requests is traced whose client does not say it, of 1. A client that sends
    a `traceparent` decides by its flag."""
