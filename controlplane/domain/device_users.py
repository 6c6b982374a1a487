"""Who is on a GPU, as far as its host shows it, and how that is said."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from controlplane.domain.facts.gpus import GIB


@dataclass(frozen=True, kw_only=True)
class DeviceUser:
    """One process on a GPU. A container may show neither the process nor what it holds."""

    pid: int
    held_bytes: int | None = None
    name: str = ""
    """Empty where the host does not show the process."""
    user: str = ""
    is_ours: bool = False
    has_ended: bool = False
    """It is dead, and the driver has not let go of it."""

    @property
    def is_foreign(self) -> bool:
        """Whether it is a process that Enginehouse did not start, or may not have."""
        return not self.is_ours and not self.has_ended

    @property
    def words(self) -> str:
        holds = f", {_gib(self.held_bytes)}" if self.held_bytes else ""
        if not self.name:
            return f"process {self.pid}{holds}, which this host does not show"
        owner = f" of `{self.user}`" if self.user else ""
        return f"`{self.name}` (process {self.pid}{owner}{holds}), {self._story}"

    @property
    def _story(self) -> str:
        if self.has_ended:
            return "which has ended without giving its memory back"
        if self.is_ours:
            return "of an engine or a build that is ending"
        return "which Enginehouse did not start"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "DeviceUser":
        return cls(**{name: stored[name] for name in cls.__dataclass_fields__ if name in stored})


def in_use_by(device: str, users: Sequence[DeviceUser]) -> str:
    return f"{device} is in use by {'; by '.join(each.words for each in users)}."


def held_by_nobody_shown(device: str, used_bytes: int) -> str:
    """Return the sentence for memory that is taken while no process is shown on the GPU."""
    return (
        f"{_gib(used_bytes)} of {device} are held, and this host shows no process that holds them."
    )


def _gib(count_bytes: int) -> str:
    return f"{count_bytes / GIB:.1f} GiB"
