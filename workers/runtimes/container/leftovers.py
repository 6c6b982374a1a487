"""Containers whose supervisor is gone: found by their labels, and removed.

`python -m workers.runtimes.container.leftovers LEASE INSTANCE` leaves none of that lease; 1 where
the Docker engine does not answer, for then nobody knows.
"""

import logging
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any

from workers.runtimes.container.docker_engine import connected
from workers.runtimes.container.failures import ContainerRefused
from workers.runtimes.container.mark import INSTANCE_LABEL, LEASE_LABEL, Mark

IMAGE_SETTINGS = ("VLLM_IMAGE", "TRTLLM_IMAGE")
_log = logging.getLogger(__name__)


def uses_containers(environment: Mapping[str, str]) -> bool:
    return any(environment.get(name) for name in IMAGE_SETTINGS)


def sweep_containers(
    is_live: Callable[[str], bool], *, instance: str, environment: Mapping[str, str]
) -> None:
    """Look once more as `reap_containers` does, and log what was removed.

    Why Docker could not be asked is logged when it is new: the next look is seconds away.
    """
    try:
        for lease in reap_containers(is_live, instance=instance, environment=environment):
            _log.warning("removed the container of the dead lease %s", lease)
    except ContainerRefused as refused:
        _warn_once(f"containers cannot be looked at: {refused}")


def reap_containers(
    is_live: Callable[[str], bool], *, instance: str, environment: Mapping[str, str]
) -> list[str]:
    """Remove this installation's containers whose lease is dead; return those leases.

    `is_live` is asked after the look at the containers: one that came later is not touched.
    Raises ContainerRefused.
    """
    with connected(environment) as engine:
        containers = _containers(engine, [f"{INSTANCE_LABEL}={instance}"])
        dead = [each for each in containers if not is_live(_lease(each))]
        for each in dead:
            _remove(engine, each["Id"])
    return [_lease(each) for each in dead]


def remove_containers(mark: Mark, environment: Mapping[str, str]) -> int:
    """Return how many containers of the lease were removed, none of which is left.

    Raises ContainerRefused.
    """
    with connected(environment) as engine:
        containers = _containers(engine, [f"{name}={value}" for name, value in mark.labels.items()])
        for each in containers:
            _remove(engine, each["Id"])
    return len(containers)


def clear_containers(mark: Mark) -> None:
    """Remove what an engine of this lease ran in, where this host starts any from images.

    Its processes are dead already, or not ours to see; a Docker that is away is asked again later.
    """
    if not uses_containers(os.environ):
        return
    try:
        remove_containers(mark, os.environ)
    except ContainerRefused as refused:
        _log.warning("containers of %s are left to the next look: %s", mark.lease, refused)


@lru_cache(maxsize=16)
def _warn_once(sentence: str) -> None:
    # The look is repeated every few seconds: the same line each time would tell nothing.
    _log.warning("%s", sentence)


def _containers(engine: Any, labels: list[str]) -> list[dict[str, Any]]:
    return list(engine.containers(all=True, filters={"label": labels}))


def _lease(container: dict[str, Any]) -> str:
    return str(container["Labels"].get(LEASE_LABEL, ""))


def _remove(engine: Any, container_id: str) -> None:
    from docker.errors import APIError, NotFound

    try:
        engine.remove_container(container_id, force=True, v=True)
    except NotFound:
        return
    except APIError as error:
        if error.status_code != 409:
            raise
        # Someone else removes it at this moment.
        with suppress(NotFound):
            engine.wait(container_id, condition="removed")


def main() -> int:
    lease, instance = sys.argv[1:]
    try:
        remove_containers(Mark(lease=lease, instance=instance), os.environ)
    except ContainerRefused as refused:
        sys.stderr.write(f"{refused}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
