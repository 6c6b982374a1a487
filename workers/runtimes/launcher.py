"""What every runtime's package has to offer to whoever starts engines."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from workers.runtimes.installed import Installed

Ask = Callable[[str], bytes | None]
"""The engine's answer to GET on a path; None where there is none."""


class Launcher(Protocol):
    def installed(self, environment: Mapping[str, str], *, own_python: str) -> Installed | None:
        """Return how it is started here, None where this host does not have it.

        Raises ContainerRefused where the host names an image that cannot be used.
        """
        ...

    def read_report(self, ask: Ask, log: str) -> dict[str, Any] | None:
        """Return what a ready engine says of its memory and itself; None where it says nothing."""
        ...
