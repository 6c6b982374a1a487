"""Which hosts start which runtime, in which version, and on which kinds of GPU."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

from apps.configs.selectors import offers_of_hosts
from controlplane.domain.facts.gpus import CPU, GPUS
from controlplane.domain.runtimes import RUNTIMES, Runtime
from controlplane.domain.runtimes.choice import version_of
from controlplane.domain.spec.choices import RUNTIME_ON_CPU, RUNTIME_ON_GPU


@dataclass(frozen=True, kw_only=True)
class RuntimeHost:
    """A host that starts a runtime; without a version where it ran none yet."""

    node_id: str
    name: str
    version: str


class RuntimeHosts:
    """The hosts that the checks count on: all that take new work, silent ones included."""

    def __init__(self) -> None:
        self._offers = offers_of_hosts()

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        kinds = {host.kind for host in self._offers.started}
        return tuple(kind for kind in GPUS if kind in kinds)

    @property
    def has_gpus(self) -> bool:
        return any(kind != CPU for kind in self.kinds)

    def of(self, runtime: Runtime) -> tuple[RuntimeHost, ...]:
        return tuple(
            RuntimeHost(
                node_id=host.node_id,
                name=host.node,
                version=dict(host.versions).get(runtime.name, ""),
            )
            for host in self._offers.of(runtime.name).values()
        )

    def version_of(self, runtime: Runtime) -> str:
        """Return the oldest version that hosts ran, as the tables name it, else the one planned."""
        return version_of(runtime, [ran for host in self._offers.started for ran in host.versions])

    def usual(self) -> Runtime:
        if self.kinds and not self.has_gpus:
            return RUNTIMES[RUNTIME_ON_CPU]
        started = [name for name, runtime in RUNTIMES.items()
                   if runtime.needs_gpu and self._offers.of(name)]  # fmt: skip
        return RUNTIMES[_first(started, RUNTIME_ON_GPU)]


def _first(names: Collection[str], usual: str) -> str:
    return usual if usual in names or not names else next(iter(names))
