"""The Docker engine of this host, through Docker's own SDK: it speaks every transport that
DOCKER_HOST may name, agrees on a version, and takes over the connection that `attach` needs.

The SDK is imported where it is used: a host without images does not need it.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from controlplane.domain.failures.registry import containers
from workers.runtimes.container import failures
from workers.runtimes.container.failures import ContainerRefused

SECONDS = 30.0
"""For one answer of an engine that is asked for no more than a look or a small change."""
_SOCKET = "unix:///var/run/docker.sock"


@contextmanager
def connected(environment: Mapping[str, str], *, seconds: float = SECONDS) -> Iterator[Any]:
    """Give the engine's client; whatever it refuses or fails with is a ContainerRefused."""
    try:
        from docker.api import APIClient
        from docker.errors import APIError, DockerException
        from docker.utils import kwargs_from_env
        from requests.exceptions import RequestException
    except ImportError as absent:
        raise ContainerRefused.of(containers.SDK) from absent
    address = environment.get("DOCKER_HOST") or _SOCKET
    client = None
    try:
        settings = kwargs_from_env(environment=dict(environment))
        client = APIClient(version="auto", timeout=seconds, **settings)
        yield client
    except APIError as error:
        raise explained(str(error.explanation or error)) from error
    except (DockerException, RequestException, OSError) as error:
        raise unreachable(address, error) from error
    finally:
        if client is not None:
            client.close()


def explained(words: str) -> failures.ContainerRefused:
    lowered = words.lower()
    if "could not select device driver" in lowered or "unresolvable cdi devices" in lowered:
        return ContainerRefused.of(containers.NO_GPU, detail=words)
    if "bind source path does not exist" in lowered:
        return ContainerRefused.of(containers.FOLDER, detail=words)
    return ContainerRefused.of(containers.REFUSED, detail=words)


def unreachable(address: str, error: Exception) -> failures.ContainerRefused:
    words = str(error)
    if "Permission denied" in words:
        return ContainerRefused.of(containers.DENIED, address=address)
    reasons = {
        "No such file or directory": "its socket is not there",
        "FileNotFoundError": "its socket is not there",
        "Connection refused": "nothing listens there",
        "timed out": "it did not answer in time",
    }
    explanation = next((reason for sign, reason in reasons.items() if sign in words), words)
    return ContainerRefused.of(containers.AWAY, address=address, reason=explanation)
