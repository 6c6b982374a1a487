"""Which hosts start which runtime, in which version, and on which kinds of GPU."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from apps.fleet.models import Node
from apps.fleet.selectors import node_list
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
    """The hosts that joined, silent ones included."""

    def __init__(self) -> None:
        self._nodes = tuple(node_list())

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of GPU that they have, and the CPU."""
        found = {device.kind for node in self._nodes for device in node.devices.all()
                 if device.is_present}  # fmt: skip
        return tuple(kind for kind in GPUS if kind in found)

    @property
    def has_gpus(self) -> bool:
        return any(kind != CPU for kind in self.kinds)

    def of(self, runtime: Runtime) -> tuple[RuntimeHost, ...]:
        """Return the hosts that start a runtime, by name."""
        return tuple(
            RuntimeHost(
                node_id=node.id,
                name=node.name,
                version=node.runtime_versions.get(runtime.name, ""),
            )
            for node in self._nodes
            if runtime.is_built_in or runtime.name in node.runtimes
        )

    def version_of(self, runtime: Runtime) -> str:
        """Return the oldest version that hosts ran, as the tables name it, else the one planned."""
        return version_of(runtime, tuple(self._ran()))

    def usual(self) -> Runtime:
        """Return the runtime to show where none is asked for."""
        if self.kinds and not self.has_gpus:
            return RUNTIMES[RUNTIME_ON_CPU]
        started = [name for name, runtime in RUNTIMES.items()
                   if runtime.needs_gpu and self.of(runtime)]  # fmt: skip
        return RUNTIMES[_first(started, RUNTIME_ON_GPU)]

    def _ran(self) -> Iterator[tuple[str, str]]:
        for node in self._nodes:
            yield from _versions(node).items()


def _versions(node: Node) -> Mapping[str, str]:
    return {name: told for name, told in node.runtime_versions.items() if name in node.runtimes}


def _first(names: Collection[str], usual: str) -> str:
    return usual if usual in names or not names else next(iter(names))
