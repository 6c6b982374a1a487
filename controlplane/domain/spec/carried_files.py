"""The `config.yaml` blocks that bring files along, and the hosted product's newest engine.

They are read in full so that a file written for the hosted product parses here; a rule says that
they have no effect. Source: truss 0.18.36 `truss/base/truss_config.py`, checked 2026-11-27.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from controlplane.domain.spec.section import NonEmptyText, Section
from controlplane.domain.spec.server_fields import CloudIdentity


class WeightsAuth(CloudIdentity):
    """How to log in to a source of files."""

    auth_method: Literal["CUSTOM_SECRET", "AWS_OIDC", "GCP_OIDC", "AWS_ASSUME_ROLE"]
    """How to log in to the source."""
    auth_secret_name: str | None = None
    """Name of the secret that opens it."""


class WeightsSource(Section):
    """Files to bring along."""

    source: Annotated[str, StringConstraints(pattern=r"^(hf|s3|gs|azure|r2|cw|https|bt)://.")]
    """Address of the files, with `hf://`, `s3://` or the like."""
    mount_location: Annotated[str, StringConstraints(pattern=r"^/.")]
    """The folder that they appear in."""
    auth: WeightsAuth | None = None
    """How to log in to the source."""
    auth_secret_name: str | None = None
    """Name of the secret that opens it."""
    allow_patterns: list[str] | None = None
    """Files to take; all when absent."""
    ignore_patterns: list[str] | None = None
    """Files to leave out."""


class InternalRepository(Section):
    """A repository to bring along."""

    repo_id: NonEmptyText
    """The repository or bucket."""
    revision: str = ""
    """Branch, tag or commit."""
    allow_patterns: list[str] | None = None
    """Files to take; all when absent."""
    ignore_patterns: list[str] | None = None
    """Files to leave out."""
    volume_folder: NonEmptyText | None = None
    """Folder of the volume that they appear in."""
    use_volume: bool = False
    """Keep them on a volume instead of in the image."""
    kind: Literal["hf", "gcs", "s3", "azure"] = "hf"
    """What kind of source it is."""
    runtime_secret_name: str = "hf_access_token"
    """Name of the secret that opens it."""

    @model_validator(mode="after")
    def _volume_has_a_folder(self) -> Self:
        if self.use_volume and self.volume_folder is None:
            raise PydanticCustomError(
                "incomplete", "`use_volume: true` needs `volume_folder`, the place of the files"
            )
        return self


class CachedRepository(InternalRepository):
    """A repository to bring along; it says where it is kept."""

    use_volume: bool
    """Keep them on a volume instead of in the image."""


class ExternalFile(Section):
    """A file to bring along."""

    url: NonEmptyText
    """Address of the file."""
    local_data_path: NonEmptyText
    """Where it appears in the container."""
    backend: str = "http_public"
    """What fetches it."""
    name: str | None = None
    """What it is called."""


class VolumeMount(Section):
    """Files of the delivery network."""

    source: NonEmptyText
    """Address of the files."""
    path: NonEmptyText
    """The folder that they appear in."""
    include: list[str] = []
    """Files to take; all when empty."""
    exclude: list[str] = []
    """Files to leave out."""


class VolumeAccess(Section):
    """What may be done in a part of the delivery network."""

    namespace: NonEmptyText
    """The part of the delivery network."""
    grants: list[Literal["pull", "push", "tag", "inspect", "delete"]]
    """What may be done there."""


class Hotload(Section):
    """Loading while the container runs."""

    enabled: bool = False
    """Load files while the container runs."""


class DeliveryNetwork(Section):
    """The hosted product's delivery network."""

    mounts: list[VolumeMount] = []
    """Files that appear in the container."""
    access: list[VolumeAccess] = []
    """What the container may do in the delivery network."""
    hotload: Hotload = Hotload()
    """Whether files are loaded while the container runs."""


class TrainingArtifact(Section):
    """Result of a training job."""

    training_job_id: str
    """The hosted product's training job."""
    paths: list[str] = []
    """Files of it; all when empty."""


class TrainingCheckpoints(Section):
    """Results of training jobs."""

    download_folder: str = "scratch/training_checkpoints"
    """The folder that they appear in."""
    artifact_references: list[TrainingArtifact] = []
    """Results of training jobs."""
    loops_checkpoint_ids: list[str] = []
    """Checkpoints by their id."""


class AutoscalingMetric(Section):
    """Something that scales a deployment."""

    name: str
    """What is measured."""
    target: float
    """What it should be for one replica."""


class AdditionalAutoscaling(Section):
    """What scales a deployment of the hosted product's newest engine."""

    metrics: list[AutoscalingMetric]
    """What scales the deployment."""


class BisLlm(Section):
    """The hosted product's newest engine."""

    config: dict[str, Any] | None = None
    """Settings of the hosted product's engine, unread."""
    version: str = ""
    """Version of that engine."""
    additional_autoscaling_config: AdditionalAutoscaling | None = None
    """Metrics that scale the deployment there."""
