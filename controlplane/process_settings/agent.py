import sys

from controlplane.process_settings.base import variable
from controlplane.process_settings.common import (
    CHECKPOINTS_AND_BUILDS,
    HOSTS,
    EnrolledSettings,
    MeasuredSettings,
    TracedSettings,
)
from controlplane.process_settings.kinds import HttpUrl


class AgentVariables(EnrolledSettings, MeasuredSettings, TracedSettings):
    """What one agent knows before it has spoken to anyone."""

    group = HOSTS
    read_by = "agent"

    control_plane_url: HttpUrl = variable("CONTROL_PLANE_URL", "http://127.0.0.1:8000")

    engine_cpu_threads: int = variable("ENGINE_CPU_THREADS", 0, ge=0)

    engine_ports: str = variable(
        "ENGINE_PORTS",
        "",
        shown="15000 up to the first that the kernel gives out",
        group=CHECKPOINTS_AND_BUILDS,
    )
    """The ports that engines and their runners listen on, two for each replica, such as
    `20000-20999`. Told when the node enrolls; gateways ask a node at no others."""

    engine_python: str = variable("ENGINE_PYTHON", sys.executable, shown="the agent's own Python")
    """The Python that runs engines."""

    artifact_cache_bytes: int = variable("ARTIFACT_CACHE_BYTES", 0, ge=0, shown="none")
    """What this host's copies of artifacts may take together. The least recently used go first,
    never one that a replica has or is about to start from. Without a bound, copies go once unused
    for a day."""

    engine_start_seconds: int = variable("ENGINE_START_SECONDS", 1200, ge=0)
    """How long an engine that loads may log, compute and read nothing before it counts as
    failed."""

    engine_drain_seconds: int = variable("ENGINE_DRAIN_SECONDS", 30, ge=0)
    """How long a stopping engine may finish its requests."""

    stop_engines_on_exit: bool = variable("AGENT_STOP_ENGINES_ON_EXIT", False)
    """`1`: engines end with their agent; otherwise the next agent adopts them."""
