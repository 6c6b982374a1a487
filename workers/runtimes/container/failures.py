"""Why no engine can be started in a container, and what an operator does about it."""

import json
from contextlib import suppress
from pathlib import Path

from controlplane.domain.failures import Failure
from controlplane.domain.failures.raised import RaisedFailure
from controlplane.domain.failures.registry import containers

AWAY = containers.AWAY.code
FILE_NAME = "failure.json"
"""Where the process that stands for a container leaves the reason of its end."""


class ContainerRefused(RaisedFailure):
    """There will be no container; `failure` says why."""


def failure_in(folder: Path) -> Failure | None:
    with suppress(OSError, ValueError):
        return Failure.from_json(json.loads((folder / FILE_NAME).read_bytes()))
    return None


def not_in_image(reference: str, package: str, words: str) -> ContainerRefused:
    return ContainerRefused.of(
        containers.NO_RUNTIME, image=reference, package=package, detail=words or None
    )
