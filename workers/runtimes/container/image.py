"""The image that a host names for a runtime: is it there, and which version has it."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controlplane.domain.failures.registry import containers
from workers.runtimes.container import failures
from workers.runtimes.container.docker_engine import connected
from workers.runtimes.container.failures import ContainerRefused
from workers.runtimes.container.mark import LEASE_VARIABLE, Mark
from workers.runtimes.engine_cache import engine_cache

PYTHON = "python3"
_QUESTION = "import importlib.metadata as each; print(each.version({package!r}))"


@dataclass(frozen=True, kw_only=True)
class Image:
    """An image by its id, which never means another one, and by the name that the host gave it."""

    id: str
    reference: str

    def cache_folder(self, environment: Mapping[str, str]) -> Path:
        return engine_cache(environment) / self.id.rpartition(":")[2][:16]


def find_image(reference: str, environment: Mapping[str, str]) -> Image:
    """Return the image as this host has it; nothing is pulled. Raises ContainerRefused."""
    with connected(environment) as engine:
        return Image(id=_id_of(engine, reference), reference=reference)


def version_in(image: Image, package: str, environment: Mapping[str, str]) -> str:
    """Return the package's version in the image as drivers name it, such as `0.25`.

    Asked of the image's own Python once, and kept beside its compile cache. Raises
    ContainerRefused where it has none.
    """
    kept = image.cache_folder(environment) / f"version-of-{package}.json"
    try:
        version = str(json.loads(kept.read_text())["version"])
    except (OSError, ValueError, KeyError):
        version = _version_script(image, package, environment)
        kept.parent.mkdir(parents=True, exist_ok=True)
        draft = kept.with_name(f".{kept.name}.{os.getpid()}")
        draft.write_text(json.dumps({"version": version, "image": image.reference}))
        draft.replace(kept)
    return ".".join(version.split(".")[:2])


def _id_of(engine: Any, reference: str) -> str:
    from docker.errors import NotFound

    try:
        return str(engine.inspect_image(reference)["Id"])
    except NotFound:
        raise ContainerRefused.of(containers.NO_IMAGE, image=reference) from None


def _version_script(image: Image, package: str, environment: Mapping[str, str]) -> str:
    with connected(environment, seconds=120.0) as engine:
        question = _question(engine, image, package, environment)
        try:
            engine.start(question)
            engine.wait(question)
            out, err = (
                engine.logs(question, stdout=is_out, stderr=not is_out).decode(errors="replace")
                for is_out in (True, False)
            )
        finally:
            engine.remove_container(question, force=True)
    if not out.strip():
        raise failures.not_in_image(image.reference, package, err.strip()[-300:])
    return str(out.strip().splitlines()[-1])


def _question(engine: Any, image: Image, package: str, environment: Mapping[str, str]) -> str:
    """Return a container that will print the version, without network or GPU."""
    created = engine.create_container(
        image.id,
        entrypoint=[PYTHON, "-I", "-c", _QUESTION.format(package=package)],
        command=[],
        labels=Mark.of(environment).labels if LEASE_VARIABLE in environment else {},
        # No GPU is looked at where an NVIDIA runtime is the engine's default one.
        environment={"NVIDIA_VISIBLE_DEVICES": "void"},
        host_config=engine.create_host_config(
            cap_drop=["ALL"],
            security_opt=["no-new-privileges"],
            read_only=True,
            network_mode="none",
            log_config={"Type": "json-file", "Config": {}},
        ),
    )
    return str(created["Id"])
