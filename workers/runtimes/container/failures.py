"""Why no engine can be started in a container, and what an operator does about it."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from controlplane.domain.failures import Failure
from controlplane.domain.failures.kind import FailureKind
from controlplane.domain.failures.registry import containers

AWAY = containers.AWAY.code
FILE_NAME = "failure.json"
"""Where the process that stands for a container leaves the reason of its end."""


class ContainerRefused(Exception):
    """There will be no container; `failure` says why."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.sentence)
        self.failure = failure


def told_in(folder: Path) -> Failure | None:
    """Return what a container's process left in this folder, None where it said nothing."""
    with suppress(OSError, ValueError):
        return Failure.from_json(json.loads((folder / FILE_NAME).read_bytes()))
    return None


def two_ways(package: str, python: str, reference: str) -> ContainerRefused:
    return _refused(containers.SETTINGS, package=package, python=python, image=reference)


def no_sdk() -> ContainerRefused:
    return _refused(containers.SDK)


def away(address: str, reason: str) -> ContainerRefused:
    return _refused(containers.AWAY, address=address, reason=reason)


def denied(address: str) -> ContainerRefused:
    return _refused(containers.DENIED, address=address)


def no_image(reference: str) -> ContainerRefused:
    return _refused(containers.NO_IMAGE, image=reference)


def not_in_image(reference: str, package: str, words: str) -> ContainerRefused:
    return _refused(containers.NO_RUNTIME, image=reference, package=package, detail=words or None)


def no_gpu(words: str) -> ContainerRefused:
    return _refused(containers.NO_GPU, detail=words)


def name_taken(name: str, words: str) -> ContainerRefused:
    return _refused(containers.NAME, name=name, detail=words)


def no_folder(words: str) -> ContainerRefused:
    return _refused(containers.FOLDER, detail=words)


def refused(words: str) -> ContainerRefused:
    """Return what the Docker engine answered, where nobody has explained it yet."""
    return _refused(containers.REFUSED, detail=words)


def lost(words: str) -> ContainerRefused:
    return _refused(containers.LOST, detail=words)


def out_of_memory() -> ContainerRefused:
    return _refused(containers.OUT_OF_MEMORY)


def _refused(kind: FailureKind, **values: Any) -> ContainerRefused:
    return ContainerRefused(kind.failure(**values))
