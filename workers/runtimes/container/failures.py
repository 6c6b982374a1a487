"""Why no engine can be started in a container, and what an operator does about it."""

import json
from contextlib import suppress
from pathlib import Path

from controlplane.domain.failures import Blame, Failure

AWAY = "EHN-DOCKER-AWAY"
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
    """Return the refusal of a host that names two ways to start one runtime."""
    return _refused(
        "EHN-DOCKER-SETTINGS",
        f"This host is to start `{package}` with `{python}` and from the image `{reference}`: "
        "one runtime is started in one way only.",
        "Unset one of the two settings (`…_PYTHON` or `…_IMAGE`), then restart agent and build "
        "worker.",
    )


def no_sdk() -> ContainerRefused:
    """Return the refusal where the package that speaks with Docker is absent."""
    return _refused(
        "EHN-DOCKER-SDK",
        "This host names an image, and the Python package `docker` is not installed.",
        "Install Enginehouse with its extra `containers`: pip install 'enginehouse[containers]'.",
    )


def away(address: str, reason: str) -> ContainerRefused:
    """Return the refusal where no Docker engine answers."""
    return _refused(
        AWAY,
        f"No Docker engine answers at `{address}`: {reason}.",
        "Start Docker on this host, or set DOCKER_HOST to its socket; where the agent itself runs "
        "in a container, mount the socket into it.",
    )


def denied(address: str) -> ContainerRefused:
    """Return the refusal where the socket is not ours to use."""
    return _refused(
        "EHN-DOCKER-DENIED",
        f"The user of this process may not use Docker's socket `{address}`.",
        "Add that user to the socket's group (mostly `docker`) and restart agent and build worker.",
    )


def no_image(reference: str) -> ContainerRefused:
    """Return the refusal of an image that this host does not have."""
    return _refused(
        "EHN-DOCKER-NO-IMAGE",
        f"This host does not have the image `{reference}`, and a start never pulls one.",
        f"Run on this host: docker pull {reference}",
    )


def not_in_image(reference: str, package: str, words: str) -> ContainerRefused:
    """Return the refusal of an image whose Python does not have the runtime."""
    return _refused(
        "EHN-DOCKER-NO-RUNTIME",
        f"The image `{reference}` has no `{package}` that its `python3` can import.",
        "Name an image of that runtime.",
        detail=words or None,
    )


def no_gpu(words: str) -> ContainerRefused:
    """Return the refusal of a Docker engine that cannot hand GPUs to containers."""
    return _refused(
        "EHN-DOCKER-NO-GPU",
        "This host's Docker engine cannot give a GPU to a container.",
        "Install the NVIDIA Container Toolkit, run `nvidia-ctk runtime configure` and restart "
        "Docker.",
        detail=words,
    )


def name_taken(name: str, words: str) -> ContainerRefused:
    """Return the refusal of a name that somebody else's container has."""
    return _refused(
        "EHN-DOCKER-NAME",
        f"A container that is not this installation's has the name `{name}`.",
        f"Look at it with `docker inspect {name}`, and rename or remove it.",
        detail=words,
    )


def no_folder(words: str) -> ContainerRefused:
    """Return the refusal of a folder that the engine's host does not have."""
    return _refused(
        "EHN-DOCKER-FOLDER",
        "The Docker engine does not find a folder that the container needs.",
        "Where agent or build worker run in a container themselves, DATA_DIR and ENGINE_CACHE_DIR "
        "must be mounted there at the same path as on the host.",
        detail=words,
    )


def refused(words: str) -> ContainerRefused:
    """Return what the Docker engine answered, where nobody has explained it yet."""
    return _refused(
        "EHN-DOCKER-REFUSED",
        "The Docker engine refused the container.",
        "Read its words below and the log of Docker on this host.",
        detail=words,
    )


def lost(words: str) -> ContainerRefused:
    """Return the end of an engine whose Docker engine went away."""
    return _refused(
        "EHN-DOCKER-LOST",
        "The Docker engine of this host went away while it ran the engine.",
        "Nothing to do once it is back: the container is removed, and another replica takes its "
        "place.",
        detail=words,
    )


def out_of_memory() -> ContainerRefused:
    """Return the end of an engine that the kernel killed for want of host memory."""
    return _refused(
        "EHN-DOCKER-OOM",
        "The kernel's out-of-memory killer ended the engine in its container (`OOMKilled`).",
        "Free host memory on that node, or lower what the config keeps there "
        "(`kv_cache_host_memory_bytes`).",
    )


def _refused(code: str, sentence: str, hint: str, *, detail: str | None = None) -> ContainerRefused:
    return ContainerRefused(
        Failure(code=code, blame=Blame.MACHINE, sentence=sentence, hint=hint, detail=detail)
    )
