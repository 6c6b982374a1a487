"""What a host says of the engines that it starts; launchers read it from what they are passed."""

from controlplane.process_settings.base import ProcessSettings, variable
from controlplane.process_settings.common import HOSTS


class EngineHostSettings(ProcessSettings):
    """Of whoever starts engines."""

    group = HOSTS
    read_by = "agent, build worker"

    vllm_python: str = variable("VLLM_PYTHON", "")
    """The Python that has vLLM, in an environment of its own; without it this host starts no
    vLLM."""

    trtllm_python: str = variable("TRTLLM_PYTHON", "")
    """The Python that has TensorRT-LLM, in an environment of its own. Not yet run by us; where no
    host names it or an image, a check refuses builds for it."""

    vllm_image: str = variable("VLLM_IMAGE", "")
    """The image that has vLLM, best by digest (`vllm/vllm-openai@sha256:…`): engines then run [in
    containers](containers.md). It has to be on this host already, and `VLLM_PYTHON` has to be
    unset."""

    trtllm_image: str = variable("TRTLLM_IMAGE", "")
    """The image that has TensorRT-LLM, likewise. Not yet run by us."""

    docker_host: str = variable("DOCKER_HOST", "unix:///var/run/docker.sock")
    """Where this host's own Docker engine listens."""

    engine_cache_dir: str = variable("ENGINE_CACHE_DIR", "~/.cache/enginehouse")
    """What engines in containers compile is kept here, in one folder for each image."""

    engine_container_writable: bool = variable("ENGINE_CONTAINER_WRITABLE", False)
    """`1`: engines may write into their container's own file system, for images that do not start
    without."""

    model_class_cache: str = variable(
        "MODEL_CLASS_CACHE", "", shown="`DATA_DIR/cache/classes`", read_by="build worker"
    )
    """Which tensors a model class wants is kept here, so that it is asked once for checkpoints of
    the same config.json and shapes; it can be deleted at any time."""
