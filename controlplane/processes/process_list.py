"""Which processes make up Enginehouse: the one list that `manage.py up` starts from.

`docker-compose.yml` starts the same processes, each in a container; a test holds the two together.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

from controlplane.artifacts.variables import LOGIN
from controlplane.processes.server import ServerCommand

_CONTROL_PLANE_ONLY = frozenset(
    {"DATABASE_URL", "DATABASE_URL_FILE", "SECRET_KEY", "SECRET_KEY_FILE", "KEY_RING_FILE"}
)


@dataclass(frozen=True, kw_only=True)
class Process:
    """One long-lived process of ours. `listens` names the socket that is handed down to it.

    `uses_database` is untrue for the machines' side, which speaks HTTP with a credential instead;
    `uses_store` for what neither writes nor reads artifacts, and so needs no login to their bucket.
    """

    name: str
    argv: tuple[str, ...]
    listens: str | None = None
    uses_database: bool = True
    uses_store: bool = True
    environment: Mapping[str, str] = field(default_factory=dict)

    def command(self, environment: Mapping[str, str]) -> ServerCommand:
        """Return what to start, with `environment` under the process's own."""
        return ServerCommand(
            argv=(sys.executable, *self.argv),
            environment={**environment, **self.environment},
            without=self._without,
        )

    @property
    def _without(self) -> frozenset[str]:
        kept_back = frozenset() if self.uses_database else _CONTROL_PLANE_ONLY
        return kept_back if self.uses_store else kept_back | LOGIN


def _worker(queue: str, threads: int) -> tuple[str, ...]:
    # Threads: a task here waits for a child process or for the network, and a warm shutdown
    # reaches it, which a blocked prefork child would not hear.
    return (
        *("-m", "celery", "--quiet", "-A", "controlplane.celery", "worker"),
        *("-P", "threads", "-c", str(threads), "-Q", queue),
        *("-l", "WARNING", "--without-gossip", "--without-mingle", "--without-heartbeat"),
        *("-n", f"{queue}@%h"),
    )


def processes(*, build_pool: str) -> tuple[Process, ...]:
    """Return every process of one machine, in the order in which they start."""
    return (
        Process(name="web", argv=("-m", "controlplane.processes.web"), listens="web"),
        Process(
            name="gateway",
            argv=("-m", "workers.gateway"),
            listens="gateway",
            uses_database=False,
            uses_store=False,
        ),
        Process(
            name="scheduler",
            argv=("-m", "celery", "--quiet", "-A", "controlplane.beat", "beat", "-l", "WARNING"),
            uses_store=False,
        ),
        Process(name="control", argv=_worker("control", 3)),
        # As many requests wait for models at once as it has threads.
        Process(name="async", argv=_worker("async", 16), uses_store=False),
        Process(name="build", argv=_worker(f"build.{build_pool}", 1)),
        Process(name="agent", argv=("-m", "workers.agent"), uses_database=False),
    )
