"""What a host says of the engines that it starts; launchers read it from what they are passed."""

from typing import Any

from pydantic import create_model

from controlplane.domain.runtimes import RUNTIMES
from controlplane.domain.runtimes.runtime import HostSetting
from controlplane.process_settings.base import ProcessSettings, variable
from controlplane.process_settings.common import HOSTS


class _OfRuntimes(ProcessSettings):
    group = HOSTS
    read_by = "agent, build worker"


def _fields() -> dict[str, Any]:
    pythons = [runtime.python_setting for runtime in RUNTIMES.values()]
    images = [runtime.image_setting for runtime in RUNTIMES.values()]
    return {each.name.lower(): _field(each) for each in (*pythons, *images) if each is not None}


def _field(setting: HostSetting) -> tuple[type[str], Any]:
    return str, variable(setting.name, "", description=setting.says)


RuntimeSettings: type[ProcessSettings] = create_model(
    "RuntimeSettings", __base__=_OfRuntimes, **_fields()
)
"""Where a host has which runtime."""


class EngineHostSettings(ProcessSettings):
    """Of whoever starts engines."""

    group = HOSTS
    read_by = "agent, build worker"

    docker_host: str = variable("DOCKER_HOST", "unix:///var/run/docker.sock")
    """Where this host's own Docker engine listens."""

    engine_cache_dir: str = variable("ENGINE_CACHE_DIR", "~/.cache/enginehouse")
    """What engines in containers compile is kept here, in one folder for each image; what our
    drafter compiles (`numba`) and what vLLM's Python imports of it (`parts`), for all engines."""

    engine_container_writable: bool = variable("ENGINE_CONTAINER_WRITABLE", False)
    """`1`: engines may write into their container's own file system, for images that do not start
    without."""

    model_class_cache: str = variable(
        "MODEL_CLASS_CACHE", "", shown="`DATA_DIR/cache/classes`", read_by="build worker"
    )
    """Which tensors a model class wants is kept here, so that it is asked once for checkpoints of
    the same config.json and shapes; it can be deleted at any time."""
