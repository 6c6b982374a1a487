"""The `config.yaml` blocks around the engine: server and image.

They are read in full so that a file written for the hosted product parses here; a rule says which
of them have no effect. Source: truss 0.18.36 `truss/base/truss_config.py`, checked 2026-11-27.
"""

from ipaddress import IPv4Network
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Discriminator, StringConstraints
from pydantic_core import PydanticCustomError

from controlplane.domain.spec.section import Section


class HttpTransport(Section):
    """Requests over HTTP."""

    kind: Literal["http"] = "http"
    """Requests come over HTTP."""


class GrpcTransport(Section):
    """Requests over gRPC."""

    kind: Literal["grpc"] = "grpc"
    """Requests come over gRPC, in the hosted product."""


class WebsocketTransport(Section):
    """Requests over a WebSocket."""

    kind: Literal["websocket"] = "websocket"
    """Requests come over a WebSocket, in the hosted product."""
    ping_interval_seconds: float | None = None
    """Seconds between two signs of life."""
    ping_timeout_seconds: float | None = None
    """Seconds without one after which the connection ends."""


class HealthChecks(Section):
    """When the hosted product's container counts as healthy; its own times when absent."""

    restart_check_delay_seconds: int | None = None
    """Seconds after the start before health counts."""
    restart_threshold_seconds: int | None = None
    """Seconds of bad health before a restart."""
    stop_traffic_threshold_seconds: int | None = None
    """Seconds of bad health before requests stop."""
    startup_threshold_seconds: int | None = None
    """Seconds that a start may take."""


class Oidc(Section):
    """Identity of the hosted product's container."""

    enabled: bool | None = None
    """Give the container an identity token."""


class RemoteSsh(Section):
    """Logging in to the hosted product's container."""

    enabled: bool = False
    """Let people log in to the container."""


def _ipv4(address: str) -> str:
    try:
        IPv4Network(address, strict=False)
    except ValueError:
        raise PydanticCustomError(
            "ipv4", "`{address}` is not an IPv4 address or range", {"address": address}
        ) from None
    return address


class EgressRestrictions(Section):
    """What the hosted product's container may reach."""

    ip_allow_list: list[Annotated[str, AfterValidator(_ipv4)]] | None = None
    """IPv4 addresses and ranges that the container may reach."""
    fqdn_allow_list: list[str] | None = None
    """Host names that the container may reach."""


class ServerRuntime(Section):
    """`runtime` at the top of the file: the server around the engine, not the engine."""

    predict_concurrency: int = 1
    """Requests that the container's server takes at once."""
    streaming_read_timeout: int = 60
    """Seconds without a byte after which a stream ends."""
    enable_tracing_data: bool = False
    """Record traces."""
    enable_debug_logs: bool = False
    """Log in detail."""
    transport: Annotated[
        HttpTransport | GrpcTransport | WebsocketTransport, Discriminator("kind")
    ] = HttpTransport()
    """How requests come."""
    is_websocket_endpoint: bool | None = None
    """The older way to ask for a WebSocket."""
    health_checks: HealthChecks = HealthChecks()
    """When the container counts as healthy."""
    oidc: Oidc = Oidc()
    """Identity of the container."""
    remote_ssh: RemoteSsh = RemoteSsh()
    """Logging in to the container."""
    egress_restrictions: EgressRestrictions | None = None
    """What the container may reach; everything when absent."""
    truss_server_version_override: str | None = None
    """Version of the container's server."""


SecretName = Annotated[str, StringConstraints(pattern=r"^[-._a-zA-Z0-9]+$", max_length=253)]


class ImageBuild(Section):
    """`build` at the top of the file: the container image, not the engine."""

    model_server: Literal["TrussServer", "TRT_LLM"] = "TrussServer"
    """What runs in the container."""
    arguments: dict[str, Any] = {}
    """Arguments of that server."""
    secret_to_path_mapping: dict[SecretName, str] = {}
    """Secret to the file that the image's build finds it in."""
    no_cache: bool = False
    """Build the image without a cache; asked for when a build starts, never in the file."""


class DockerServer(Section):
    """A server of your own in the hosted product's container."""

    start_command: str | None = None
    """Command that starts the server of the image."""
    server_port: int
    """The port that it listens on."""
    predict_endpoint: str
    """The route that requests go to."""
    readiness_endpoint: str
    """The route that says whether it is ready."""
    liveness_endpoint: str
    """The route that says whether it lives."""
    run_as_user_id: int | None = None
    """The user that it runs as."""
    no_build: bool | None = None
    """Run the image as it is."""


class CloudIdentity(Section):
    """How to log in to a cloud."""

    aws_oidc_role_arn: str | None = None
    """Role of AWS to take by an identity token."""
    aws_oidc_region: str | None = None
    """Region of that role."""
    gcp_oidc_service_account: str | None = None
    """Service account of Google Cloud to take by an identity token."""
    gcp_oidc_workload_id_provider: str | None = None
    """Provider that trusts that token."""
    aws_assume_role_arn: str | None = None
    """Role of AWS to assume."""
    aws_assume_role_region: str | None = None
    """Region of that role."""


class DockerAuth(CloudIdentity):
    """How to log in to an image registry."""

    auth_method: Literal[
        "GCP_SERVICE_ACCOUNT_JSON", "AWS_IAM", "AWS_OIDC", "GCP_OIDC", "REGISTRY_SECRET",
        "AWS_ASSUME_ROLE",
    ]  # fmt: skip
    """How to log in to the registry."""
    registry: str | None = ""
    """The registry."""
    secret_name: str | None = None
    """Name of the secret that opens it."""
    aws_access_key_id_secret_name: str = "aws_access_key_id"
    """Name of the secret with the access key's id."""
    aws_secret_access_key_secret_name: str = "aws_secret_access_key"
    """Name of the secret with the access key."""


class BaseImage(Section):
    """The image that the hosted product's container starts from."""

    image: str = ""
    """The image to start from."""
    python_executable_path: str = ""
    """Its Python."""
    docker_auth: DockerAuth | None = None
    """How to log in to its registry."""
