"""The `config.yaml` blocks around the engine: server, image and data.

They are read in full so that a file written for the hosted product parses here; a rule says which
of them have no effect. Source: truss 0.18.36 `truss/base/truss_config.py`, checked 2026-11-27.
"""

from ipaddress import IPv4Network
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Discriminator, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from controlplane.domain.spec.section import NonEmptyText, Section


class HttpTransport(Section):
    kind: Literal["http"] = "http"


class GrpcTransport(Section):
    kind: Literal["grpc"] = "grpc"


class WebsocketTransport(Section):
    kind: Literal["websocket"] = "websocket"
    ping_interval_seconds: float | None = None
    ping_timeout_seconds: float | None = None


class HealthChecks(Section):
    restart_check_delay_seconds: int | None = None
    restart_threshold_seconds: int | None = None
    stop_traffic_threshold_seconds: int | None = None
    startup_threshold_seconds: int | None = None


class Oidc(Section):
    enabled: bool | None = None


class RemoteSsh(Section):
    enabled: bool = False


def _ipv4(address: str) -> str:
    try:
        IPv4Network(address, strict=False)
    except ValueError:
        raise PydanticCustomError(
            "ipv4", "`{address}` is not an IPv4 address or range", {"address": address}
        ) from None
    return address


class EgressRestrictions(Section):
    ip_allow_list: list[Annotated[str, AfterValidator(_ipv4)]] | None = None
    fqdn_allow_list: list[str] | None = None


class ServerRuntime(Section):
    """`runtime` at the top of the file: the server around the engine, not the engine."""

    predict_concurrency: int = 1
    streaming_read_timeout: int = 60
    enable_tracing_data: bool = False
    enable_debug_logs: bool = False
    transport: Annotated[
        HttpTransport | GrpcTransport | WebsocketTransport, Discriminator("kind")
    ] = HttpTransport()
    is_websocket_endpoint: bool | None = None
    health_checks: HealthChecks = HealthChecks()
    oidc: Oidc = Oidc()
    remote_ssh: RemoteSsh = RemoteSsh()
    egress_restrictions: EgressRestrictions | None = None
    truss_server_version_override: str | None = None


SecretName = Annotated[str, StringConstraints(pattern=r"^[-._a-zA-Z0-9]+$", max_length=253)]


class ImageBuild(Section):
    """`build` at the top of the file: the container image, not the engine."""

    model_server: Literal["TrussServer", "TRT_LLM"] = "TrussServer"
    arguments: dict[str, Any] = {}
    secret_to_path_mapping: dict[SecretName, str] = {}
    no_cache: bool = False


class DockerServer(Section):
    start_command: str | None = None
    server_port: int
    predict_endpoint: str
    readiness_endpoint: str
    liveness_endpoint: str
    run_as_user_id: int | None = None
    no_build: bool | None = None


class CloudIdentity(Section):
    aws_oidc_role_arn: str | None = None
    aws_oidc_region: str | None = None
    gcp_oidc_service_account: str | None = None
    gcp_oidc_workload_id_provider: str | None = None
    aws_assume_role_arn: str | None = None
    aws_assume_role_region: str | None = None


class DockerAuth(CloudIdentity):
    auth_method: Literal[
        "GCP_SERVICE_ACCOUNT_JSON", "AWS_IAM", "AWS_OIDC", "GCP_OIDC", "REGISTRY_SECRET",
        "AWS_ASSUME_ROLE",
    ]  # fmt: skip
    registry: str | None = ""
    secret_name: str | None = None
    aws_access_key_id_secret_name: str = "aws_access_key_id"
    aws_secret_access_key_secret_name: str = "aws_secret_access_key"


class BaseImage(Section):
    image: str = ""
    python_executable_path: str = ""
    docker_auth: DockerAuth | None = None


class WeightsAuth(CloudIdentity):
    auth_method: Literal["CUSTOM_SECRET", "AWS_OIDC", "GCP_OIDC", "AWS_ASSUME_ROLE"]
    auth_secret_name: str | None = None


class WeightsSource(Section):
    source: Annotated[str, StringConstraints(pattern=r"^(hf|s3|gs|azure|r2|cw|https|bt)://.")]
    mount_location: Annotated[str, StringConstraints(pattern=r"^/.")]
    auth: WeightsAuth | None = None
    auth_secret_name: str | None = None
    allow_patterns: list[str] | None = None
    ignore_patterns: list[str] | None = None


class InternalRepository(Section):
    repo_id: NonEmptyText
    revision: str = ""
    allow_patterns: list[str] | None = None
    ignore_patterns: list[str] | None = None
    volume_folder: NonEmptyText | None = None
    use_volume: bool = False
    kind: Literal["hf", "gcs", "s3", "azure"] = "hf"
    runtime_secret_name: str = "hf_access_token"

    @model_validator(mode="after")
    def _volume_has_a_folder(self) -> Self:
        if self.use_volume and self.volume_folder is None:
            raise PydanticCustomError(
                "incomplete", "`use_volume: true` needs `volume_folder`, the place of the files"
            )
        return self


class CachedRepository(InternalRepository):
    use_volume: bool


class ExternalFile(Section):
    url: NonEmptyText
    local_data_path: NonEmptyText
    backend: str = "http_public"
    name: str | None = None


class VolumeMount(Section):
    source: NonEmptyText
    path: NonEmptyText
    include: list[str] = []
    exclude: list[str] = []


class VolumeAccess(Section):
    namespace: NonEmptyText
    grants: list[Literal["pull", "push", "tag", "inspect", "delete"]]


class Hotload(Section):
    enabled: bool = False


class DeliveryNetwork(Section):
    mounts: list[VolumeMount] = []
    access: list[VolumeAccess] = []
    hotload: Hotload = Hotload()


class TrainingArtifact(Section):
    training_job_id: str
    paths: list[str] = []


class TrainingCheckpoints(Section):
    download_folder: str = "scratch/training_checkpoints"
    artifact_references: list[TrainingArtifact] = []
    loops_checkpoint_ids: list[str] = []


class AutoscalingMetric(Section):
    name: str
    target: float


class AdditionalAutoscaling(Section):
    metrics: list[AutoscalingMetric]


class BisLlm(Section):
    config: dict[str, Any] | None = None
    version: str = ""
    additional_autoscaling_config: AdditionalAutoscaling | None = None
