from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from workers.runtimes.container.image import Image


@dataclass(frozen=True, kw_only=True)
class Installed:
    """The interpreter that starts it; `version` is None where it is this program's own."""

    python: str
    version: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    """What its processes need beside what the launch says."""
    imports: Path | None = None
    """A folder of ours that its processes import from, beside what the interpreter has."""
    image: Image | None = None
    """Where the interpreter lies in an image, and the engine runs in a container."""
