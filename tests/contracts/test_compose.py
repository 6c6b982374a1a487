"""docker-compose.yml starts the processes of the process list, with settings that exist."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from controlplane.processes.process_list import processes

_ROOT = Path(__file__).resolve().parents[2]
_COMPOSE: dict[str, Any] = YAML(typ="safe").load((_ROOT / "docker-compose.yml").read_text())
_GPU_HOST: dict[str, Any] = YAML(typ="safe").load(
    (_ROOT / "docker-compose.gpu-host.yml").read_text()
)
_CONTAINERS: dict[str, Any] = YAML(typ="safe").load(
    (_ROOT / "docker-compose.engine-containers.yml").read_text()
)
_SERVERS = {"postgres", "valkey", "prepare"}


def _command(name: str) -> list[str]:
    text = _COMPOSE["services"][name]["command"].replace("${BUILD_POOL:-default}", "default")
    return shlex.split(text)


def test_compose_has_exactly_the_processes_of_one_machine_and_their_servers() -> None:
    ours = {process.name for process in processes(build_pool="default")}
    assert set(_COMPOSE["services"]) - _SERVERS == ours


@pytest.mark.parametrize("process", processes(build_pool="default"), ids=lambda each: each.name)
def test_compose_starts_each_process_with_the_same_command(process: Any) -> None:
    words = [word for word in _command(process.name) if word not in {"--host", "0.0.0.0"}]
    assert words == ["python", *process.argv]


def test_compose_sets_only_variables_that_something_reads() -> None:
    sources = [*(_ROOT / "controlplane").rglob("*.py"), *(_ROOT / "workers").rglob("*.py")]
    code = "\n".join(path.read_text() for path in sources)
    for name in _COMPOSE["services"].keys() - _SERVERS:
        for variable in _COMPOSE["services"][name]["environment"]:
            assert f'"{variable}"' in code, f"{name} sets {variable}, which nothing reads"


def test_a_further_gpu_host_runs_the_same_build_worker_and_agent() -> None:
    assert set(_GPU_HOST["services"]) == {"build", "agent"}
    for name, service in _GPU_HOST["services"].items():
        assert service["command"] == _COMPOSE["services"][name]["command"]
        assert set(service["environment"]) - {"PUBLIC_URL", "GATEWAY_URL", "ALLOWED_HOSTS"} == set(
            _COMPOSE["services"][name]["environment"]
        ) - {"PUBLIC_URL", "GATEWAY_URL", "ALLOWED_HOSTS"}


def test_engines_in_containers_are_started_by_the_same_two_with_settings_that_are_listed() -> None:
    listed = (_ROOT / "docs/settings.md").read_text()
    assert set(_CONTAINERS["services"]) == set(_GPU_HOST["services"])
    for service in _CONTAINERS["services"].values():
        assert any("docker.sock" in volume for volume in service["volumes"])
        # Docker finds a folder only under the name that it has on the host.
        data = [volume for volume in service["volumes"] if "ENGINE_DATA" in volume]
        assert data == ["${ENGINE_DATA:?set it in .env}:${ENGINE_DATA}"]
        assert all(f"| `{name}` |" in listed for name in service["environment"])


@pytest.mark.parametrize("process", processes(build_pool="default"), ids=lambda each: each.name)
def test_only_what_needs_the_database_gets_its_address(process: Any) -> None:
    environment = _COMPOSE["services"][process.name]["environment"]
    assert ("DATABASE_URL" in environment) == process.uses_database
    assert ("SECRET_KEY" in environment) == (process.name == "web")


def test_only_web_and_prepare_see_the_key_ring() -> None:
    holders = {
        name
        for name, service in _COMPOSE["services"].items()
        if any(str(volume).startswith("web-data:") for volume in service.get("volumes", []))
    }
    assert holders == {"web", "prepare"}


def test_every_variable_of_the_compose_file_is_explained_or_has_a_default() -> None:
    explained = set(re.findall(r"^([A-Z_]+)=", (_ROOT / ".env.example").read_text(), re.M))
    files = [path.name for path in _ROOT.glob("docker-compose*.yml")]
    text = "".join((_ROOT / name).read_text() for name in files)
    required = set(re.findall(r"\$\{([A-Z_]+):\?", text))
    assert required <= explained


def test_images_build_from_files_that_exist() -> None:
    for name in _COMPOSE["services"].keys() - {"postgres", "valkey"}:
        dockerfile = _ROOT / _COMPOSE["services"][name]["build"]["dockerfile"]
        copied = re.findall(r"^COPY ((?:\S+ )+)\S+$", dockerfile.read_text(), re.M)
        for source in " ".join(copied).split():
            assert (_ROOT / source).exists(), f"{dockerfile.name} copies {source}"
