"""Every field of `config.yaml`, with its default."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict

from controlplane.domain.spec.carried_files import (
    BisLlm,
    CachedRepository,
    DeliveryNetwork,
    ExternalFile,
    InternalRepository,
    TrainingCheckpoints,
    WeightsSource,
)
from controlplane.domain.spec.enginehouse_settings import EnginehouseSettings
from controlplane.domain.spec.resources import Resources
from controlplane.domain.spec.section import Section
from controlplane.domain.spec.server_fields import (
    BaseImage,
    DockerServer,
    ImageBuild,
    ServerRuntime,
)
from controlplane.domain.spec.trt_llm import TrtLlm


def _as_text(given: Any) -> Any:
    if isinstance(given, bool):
        return str(given).lower()
    return str(given) if isinstance(given, int | float) else given


class ModelMetadata(Section):
    """Free-form notes, with the few keys that have a meaning."""

    model_config = ConfigDict(extra="allow")

    tags: list[str] = []
    """Tags; `openai-compatible` is the one that the hosted product's tools look for."""
    example_model_input: Any = None
    """A request body to try the model with."""
    repo_id: str | None = None
    """The repository that the model came from, for people."""
    enginehouse: EnginehouseSettings | None = None
    """Our own settings, where a tool for the hosted product would refuse the top-level block."""


class SpecFields(Section):
    """The fields of one `config.yaml`.

    Source of names, defaults and limits: truss 0.18.36 `truss/base`, checked 2026-11-27.
    """

    model_name: str | None = None
    """Name of the model; the config's own where the deployment names none."""
    description: str | None = None
    """What it is for, in words."""
    model_metadata: ModelMetadata = ModelMetadata()
    """Notes to people and tools."""
    trt_llm: TrtLlm
    """The engine: what to build, and how to serve it. Whatever runtime serves it reads this
    block."""
    resources: Resources = Resources()
    """Cores, memory and GPUs that one replica asks for."""
    secrets: dict[str, str | None] = {}
    """Names the build and the engine may read; values live in the secret store, never here."""
    environment_variables: dict[
        str,
        Annotated[str, BeforeValidator(_as_text, json_schema_input_type=str | bool | int | float)],
    ] = {}
    """Variables of the hosted product's container; without effect here."""
    enginehouse: EnginehouseSettings | None = None
    """Our own settings: runtime, gate, calibration, pool and more."""

    runtime: ServerRuntime = ServerRuntime()
    """The server around the engine; without effect here."""
    build: ImageBuild = ImageBuild()
    """The container image; without effect here."""
    build_commands: list[str] = []
    """Commands of the image's build; without effect here."""
    base_image: BaseImage | None = None
    """The image to start from; without effect here."""
    python_version: Literal["py39", "py310", "py311", "py312", "py313", "py314"] = "py313"
    """Python of the container; without effect here."""
    requirements_file: str | None = None
    """Packages of the container, in a file; without effect here."""
    requirements: list[str] = []
    """Packages of the container; without effect here."""
    system_packages: list[str] = []
    """System packages of the container; without effect here."""
    docker_server: DockerServer | None = None
    """A server of your own in the container; without effect here."""
    model_cache: list[CachedRepository] = []
    """Files to bring along; only carried here."""
    weights: list[WeightsSource] = []
    """Files to bring along, in the newer form; only carried here."""
    bdn: DeliveryNetwork = DeliveryNetwork()
    """The hosted product's delivery network; only carried here."""
    training_checkpoints: TrainingCheckpoints | None = None
    """Results of training jobs of the hosted product; only carried here."""
    bis_llm: BisLlm | None = None
    """Settings of the hosted product's newest engine; only carried here."""
    external_data: list[ExternalFile] | None = None
    """Files to bring along by address; only carried here."""
    external_package_dirs: list[str] = []
    """Folders with packages of the container; without effect here."""
    examples_filename: str = "examples.yaml"
    """A file with examples, for people."""
    data_dir: str = "data"
    """Folder of files that go into the container; without effect here."""
    input_type: str = "Any"
    """Kept for the hosted product's tools; without effect here."""
    model_framework: str = "custom"
    """Kept for the hosted product's tools; without effect here."""
    model_type: str = "Model"
    """Kept for the hosted product's tools; without effect here."""
    model_module_dir: str = "model"
    """Folder of the model's own code; without effect here."""
    model_class_filename: str = "model.py"
    """File of the model's own code; without effect here."""
    model_class_name: str = "Model"
    """Class of the model's own code; without effect here."""
    bundled_packages_dir: str = "packages"
    """Folder of packages of the model's own code; without effect here."""
    use_local_src: bool = False
    """Kept for the hosted product's tools; without effect here."""
    cache_internal: list[InternalRepository] | None = None
    """Files to bring along; only carried here."""
    live_reload: bool = False
    """Load changed code while the container runs; without effect here."""
    apply_library_patches: bool = True
    """Mend libraries in the container; without effect here."""
    spec_version: str = "2.0"
    """Version of the file's form."""
