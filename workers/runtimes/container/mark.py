"""Whose container it is: the mark that processes carry in their environment, as labels too."""

from collections.abc import Mapping
from dataclasses import dataclass

LEASE_VARIABLE, INSTANCE_VARIABLE = "ENGINEHOUSE_LEASE", "ENGINEHOUSE_INSTANCE"
LEASE_LABEL, INSTANCE_LABEL = "enginehouse.lease", "enginehouse.instance"


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A lease of one installation: `replica/<id>/<generation>` or `build/<id>/<token>`."""

    lease: str
    instance: str

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "Mark":
        return cls(lease=environment[LEASE_VARIABLE], instance=environment[INSTANCE_VARIABLE])

    @property
    def name(self) -> str:
        """The container's name: the engine keeps it to one at a time."""
        return f"enginehouse-{self.lease.replace('/', '-')}"

    @property
    def labels(self) -> dict[str, str]:
        return {LEASE_LABEL: self.lease, INSTANCE_LABEL: self.instance}

    @property
    def environment(self) -> dict[str, str]:
        """What makes the container's processes ours to whoever looks at GPUs or for orphans."""
        return {LEASE_VARIABLE: self.lease, INSTANCE_VARIABLE: self.instance}
