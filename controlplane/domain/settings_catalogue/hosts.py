"""Settings: hosts that serve."""

from collections.abc import Iterable, Iterator

from controlplane.domain.runtimes import RUNTIMES
from controlplane.domain.runtimes.runtime import HostSetting
from controlplane.domain.settings_catalogue.setting import Group, Setting


def _of_runtimes(settings: Iterable[HostSetting | None]) -> Iterator[Setting]:
    """Yield the settings by which a host says where it has a runtime."""
    for setting in settings:
        if setting is not None:
            yield Setting(
                name=setting.name,
                default="none",
                read_by="agent, build worker",
                says=setting.says,
            )


HOSTS = Group(
    title="Hosts that serve",
    settings=(
        Setting(
            name="NODE_NAME",
            default="the host's name",
            read_by="workers, agent, gateway",
            says="How this host is known. No other host may have it: who enrolls last takes "
            "its place.",
        ),
        Setting(
            name="NODE_ADDRESS",
            default="`127.0.0.1`",
            read_by="agent, gateway",
            says="Address under which gateways reach this host's engines.",
        ),
        Setting(
            name="GATEWAY_ROUTES_HOURS",
            default="`24`",
            read_by="gateway",
            says="How long a gateway that is cut off from its control plane serves by the routes "
            "and keys that it has; then it answers 503.",
        ),
        Setting(
            name="ENGINE_PYTHON",
            default="the agent's own Python",
            read_by="agent",
            says="The Python that runs engines.",
        ),
        *_of_runtimes(runtime.python_setting for runtime in RUNTIMES.values()),
        *_of_runtimes(runtime.image_setting for runtime in RUNTIMES.values()),
        Setting(
            name="DOCKER_HOST",
            default="`unix:///var/run/docker.sock`",
            read_by="agent, build worker",
            says="Where this host's own Docker engine listens.",
        ),
        Setting(
            name="ENGINE_CACHE_DIR",
            default="`~/.cache/enginehouse`",
            read_by="agent, build worker",
            says="What engines in containers compile is kept here, in one folder for each image.",
        ),
        Setting(
            name="ENGINE_CONTAINER_WRITABLE",
            default="`0`",
            read_by="agent, build worker",
            says="`1`: engines may write into their container's own file system, for images that "
            "do not start without.",
        ),
        Setting(
            name="MODEL_CLASS_CACHE",
            default="`DATA_DIR/cache/classes`",
            read_by="build worker",
            says="Which tensors a model class wants is kept here, so that it is asked once for "
            "checkpoints of the same config.json and shapes; it can be deleted at any time.",
        ),
        Setting(
            name="ARTIFACT_CACHE_BYTES",
            default="none",
            read_by="agent",
            says="What this host's copies of artifacts may take together. The least recently used "
            "go first, never one that a replica has or is about to start from. Without a "
            "bound, copies go once unused for a day.",
        ),
        Setting(
            name="ENGINE_START_SECONDS",
            default="`1200`",
            read_by="agent",
            says="How long an engine that loads may log, compute and read nothing before it counts "
            "as failed.",
        ),
        Setting(
            name="ENGINE_DRAIN_SECONDS",
            default="`30`",
            read_by="agent",
            says="How long a stopping engine may finish its requests.",
        ),
        Setting(
            name="AGENT_STOP_ENGINES_ON_EXIT",
            default="`0`",
            read_by="agent",
            says="`1`: engines end with their agent; otherwise the next agent adopts them.",
        ),
    ),
)
