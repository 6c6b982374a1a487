"""What Docker Compose would start by our files, without Docker: each service as it would run.

Only what the files use is understood: another form of variable or of port is an error.
"""

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
CONTROL_PLANE = "docker-compose.yml"
GPU_HOST = "docker-compose.gpu-host.yml"
ENGINE_CONTAINERS = "docker-compose.engine-containers.yml"
EXAMPLES = {CONTROL_PLANE: ".env.example", GPU_HOST: ".env.gpu-host.example"}
"""What is copied to `.env` beside each file."""

_VARIABLE = re.compile(
    r"\$(?:(?P<dollar>\$)"
    r"|\{(?P<name>[A-Z_]+)(?:(?P<form>:-|:\?)(?P<more>[^{}$]*))?\}"
    r"|(?P<wrong>))"
)
_PUBLISHED = re.compile(r"(?P<address>.+):(?P<outside>\d+):(?P<inside>\d+)")
_DOCKER_VOLUME = re.compile(r"^VOLUME (/\S+)$", re.MULTILINE)
_DOCKER_ENV = re.compile(r"^ENV ((?:.*\\\n)*.*)$", re.MULTILINE)


class NotRendered(Exception):
    """Compose would refuse the file with this `.env`, or we do not understand it."""


@dataclass(frozen=True, kw_only=True)
class Published:
    """A port of a service at an address of its host."""

    address: str
    port: int


@dataclass(frozen=True, kw_only=True)
class Service:
    """One container as it would be started."""

    name: str
    argv: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    """That of the image, and over it what the file says."""
    volumes: Mapping[str, str] = field(default_factory=dict)
    """Which volume or folder of the host is seen at each path."""
    published: Sequence[Published] = ()
    is_restarted: bool = True
    uses_network_of_host: bool = False


def source_of(file: str) -> dict[str, Any]:
    """Return the file as YAML, with its variables unresolved."""
    content: dict[str, Any] = yaml.safe_load((ROOT / file).read_text())
    return content


def read_env(text: str) -> dict[str, str]:
    """Return the variables of an `.env` file."""
    lines = (line for line in text.splitlines() if line and not line.startswith("#"))
    return dict(line.split("=", 1) for line in lines)


def variables_in(*files: str) -> set[str]:
    """Return the names of variables that the files take from `.env`."""
    names: set[str] = set()

    def note(match: re.Match[str]) -> str:
        names.update({match["name"]} - {None})
        return ""

    for file in files:
        _resolved(source_of(file), note)
    return names


def services_of(file: str, values: Mapping[str, str]) -> dict[str, Service]:
    """Return each service of the file with this `.env`. Raises NotRendered."""

    def value_of(match: re.Match[str]) -> str:
        return "$" if match["dollar"] else _value(match, values)

    content = _resolved(source_of(file), value_of)
    return {name: _service(name, statement) for name, statement in content["services"].items()}


def _value(match: re.Match[str], values: Mapping[str, str]) -> str:
    if match["wrong"] is not None:
        raise NotRendered(f"a variable that is not understood: {match.string!r}")
    given = values.get(match["name"], "")
    if not given and match["form"] == ":?":
        raise NotRendered(f"{match['name']}: {match['more']}")
    return given or match["more"] or ""


def _resolved(content: Any, value_of: Callable[[re.Match[str]], str]) -> Any:
    if isinstance(content, str):
        return _VARIABLE.sub(value_of, content)
    if isinstance(content, dict):
        return {name: _resolved(each, value_of) for name, each in content.items()}
    return [_resolved(each, value_of) for each in content] if isinstance(content, list) else content


def _service(name: str, said: Mapping[str, Any]) -> Service:
    command = said.get("command", [])
    return Service(
        name=name,
        argv=shlex.split(command) if isinstance(command, str) else command,
        environment={**_image_environment(said), **said.get("environment", {})},
        volumes={**_image_volumes(name, said), **dict(_volumes(said))},
        published=[_published(each) for each in said.get("ports", [])],
        is_restarted=said.get("restart") == "unless-stopped",
        uses_network_of_host=said.get("network_mode") == "host",
    )


def _image_volumes(name: str, said: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the volumes without a name that the image has, unless the file mounts one there."""
    text = (ROOT / said["build"]["dockerfile"]).read_text() if "build" in said else ""
    return dict.fromkeys(_DOCKER_VOLUME.findall(text), f"{name}-own")


def _image_environment(said: Mapping[str, Any]) -> Mapping[str, str]:
    return _environment_in(said["build"]["dockerfile"]) if "build" in said else {}


@cache
def _environment_in(dockerfile: str) -> Mapping[str, str]:
    words = " ".join(_DOCKER_ENV.findall((ROOT / dockerfile).read_text()))
    return dict(word.split("=", 1) for word in shlex.split(words.replace("\\\n", " ")))


def _volumes(said: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for each in said.get("volumes", []):
        source, path = each.removesuffix(":ro").split(":")
        yield path, source


def _published(text: str) -> Published:
    matched = _PUBLISHED.fullmatch(text)
    if matched is None or matched["outside"] != matched["inside"]:
        raise NotRendered(f"a port that is not understood: {text!r}")
    return Published(address=matched["address"].strip("[]"), port=int(matched["inside"]))
