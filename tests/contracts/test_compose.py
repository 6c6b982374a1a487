"""The compose files start the processes of the process list, with settings that exist."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from apps.builds.database_role import BUILD_WORKER_ROLE
from controlplane.database_url import database
from controlplane.processes.process_list import processes
from tests.compose_files import (
    CONTROL_PLANE,
    ENGINE_CONTAINERS,
    EXAMPLES,
    GPU_HOST,
    NotRendered,
    Published,
    Service,
    read_env,
    services_of,
    source_of,
    variables_in,
)

_ROOT = Path(__file__).resolve().parents[2]
_SERVERS = {"postgres", "valkey", "prepare"}
_OF_GPU_HOSTS = {"gateway", "build", "agent"}
_SECRET = "5f0e7a1c9d3b4e62"
_FILLED_IN = {
    CONTROL_PLANE: {
        "POSTGRES_PASSWORD": f"{_SECRET}p",
        "VALKEY_PASSWORD": f"{_SECRET}v",
        "BUILD_WORKER_PASSWORD": f"{_SECRET}b",
        "SECRET_KEY": _SECRET * 3,
        "NODE_ADDRESS": "10.77.0.1",
    },
    GPU_HOST: {"NODE_NAME": "gpu-2"},
}
"""What has to be filled in."""
_CONTROL_PLANE = services_of(CONTROL_PLANE, _FILLED_IN[CONTROL_PLANE])
_FILES = tuple(EXAMPLES)


def _example(file: str) -> dict[str, str]:
    return read_env((_ROOT / EXAMPLES[file]).read_text())


def _by_its_example(file: str, **values: str) -> dict[str, Service]:
    return services_of(file, {**_example(file), **_FILLED_IN[file], **values})


def test_compose_has_exactly_the_processes_of_one_machine_and_their_servers() -> None:
    ours = {process.name for process in processes(build_pool="default")}
    assert set(_CONTROL_PLANE) - _SERVERS == ours


@pytest.mark.parametrize("process", processes(build_pool="default"), ids=lambda each: each.name)
def test_compose_starts_each_process_with_the_same_command(process: Any) -> None:
    argv = _CONTROL_PLANE[process.name].argv
    assert [word for word in argv if word not in {"--host", "0.0.0.0"}] == ["python", *process.argv]


def test_compose_sets_only_variables_that_something_reads() -> None:
    sources = [*(_ROOT / "controlplane").rglob("*.py"), *(_ROOT / "workers").rglob("*.py")]
    code = "\n".join(path.read_text() for path in sources)
    for file in (CONTROL_PLANE, GPU_HOST, ENGINE_CONTAINERS):
        for name, service in source_of(file)["services"].items():
            for variable in service["environment"] if name not in _SERVERS else ():
                assert f'"{variable}"' in code, f"{name} sets {variable}, which nothing reads"


def test_a_further_gpu_host_runs_the_same_gateway_build_worker_and_agent() -> None:
    further = _by_its_example(GPU_HOST)
    of_the_pages = {"PUBLIC_URL", "GATEWAY_URL", "ALLOWED_HOSTS"}
    assert set(further) == _OF_GPU_HOSTS
    for name, service in further.items():
        here = _CONTROL_PLANE[name]
        assert service.argv == here.argv
        assert service.uses_network_of_host == here.uses_network_of_host
        assert set(service.environment) == set(here.environment) - of_the_pages
        assert service.volumes.keys() == here.volumes.keys()


def test_engines_in_containers_are_started_by_the_same_two_with_settings_that_are_listed() -> None:
    listed = (_ROOT / "docs/settings.md").read_text()
    services = source_of(ENGINE_CONTAINERS)["services"]
    assert set(services) == _OF_GPU_HOSTS - {"gateway"}
    for service in services.values():
        assert any("docker.sock" in volume for volume in service["volumes"])
        # Docker finds a folder only under the name that it has on the host.
        data = [volume for volume in service["volumes"] if "ENGINE_DATA" in volume]
        assert data == ["${ENGINE_DATA:?set it in .env}:${ENGINE_DATA}"]
        assert all(f"| `{name}` |" in listed for name in service["environment"])


@pytest.mark.parametrize("file", _FILES)
def test_only_what_needs_the_database_gets_its_address(file: str) -> None:
    services = _by_its_example(file)
    for process in processes(build_pool="default"):
        if service := services.get(process.name):
            assert ("DATABASE_URL" in service.environment) == process.uses_database
            assert ("SECRET_KEY" in service.environment) == (process.name == "web")


@pytest.mark.parametrize("file", _FILES)
def test_a_build_worker_signs_in_as_the_role_that_reaches_builds_alone(file: str) -> None:
    services = _by_its_example(file)
    users = {
        name: urlsplit(service.environment["DATABASE_URL"]).username
        for name, service in services.items()
        if "DATABASE_URL" in service.environment
    }
    assert users.pop("build") == BUILD_WORKER_ROLE
    assert set(users.values()) <= {"enginehouse"}


def test_the_role_of_build_workers_is_made_before_anything_starts() -> None:
    prepare = _CONTROL_PLANE["prepare"]
    given = prepare.environment["BUILD_WORKER_PASSWORD"]
    assert "build_worker_role --password-stdin" in prepare.argv[-1]
    assert f":{given}@" in _CONTROL_PLANE["build"].environment["DATABASE_URL"]


def test_only_web_and_prepare_see_the_key_ring() -> None:
    holders = {
        name for name, service in _CONTROL_PLANE.items() if "web-data" in service.volumes.values()
    }
    assert holders == {"web", "prepare"}


@pytest.mark.parametrize("file", _FILES)
def test_the_example_of_env_has_exactly_the_variables_of_its_file(file: str) -> None:
    beside = [ENGINE_CONTAINERS] if file == GPU_HOST else []
    assert set(_example(file)) == variables_in(file, *beside)


@pytest.mark.parametrize("file", _FILES)
def test_what_has_to_be_filled_in_is_empty_in_the_example_and_asked_for(file: str) -> None:
    for name in _FILLED_IN[file]:
        assert _example(file)[name] == ""
        with pytest.raises(NotRendered, match=f"{name}: set it in .env"):
            _by_its_example(file, **{name: ""})


@pytest.mark.parametrize("file", _FILES)
def test_an_example_says_the_defaults_of_its_file(file: str) -> None:
    required = {**_example(file), **_FILLED_IN[file]}
    variables = {name for name in variables_in(file) if not _is_required(file, name)}
    without = services_of(file, {k: v for k, v in required.items() if k not in variables})
    differing = {"CHECKPOINTS"} if file == GPU_HOST else set()
    with_them = services_of(file, {**required, **dict.fromkeys(differing, "./checkpoints")})
    assert without == with_them


def _is_required(file: str, name: str) -> bool:
    return f"${{{name}:?" in (_ROOT / file).read_text()


def test_the_pages_name_every_variable_that_joins_hosts() -> None:
    page = (_ROOT / "docs/several_hosts.md").read_text()
    named = set(re.findall(r"\b([A-Z][A-Z_]+[A-Z])\b", page))
    of_engines_in_containers = variables_in(ENGINE_CONTAINERS)
    assert variables_in(GPU_HOST) - of_engines_in_containers <= named
    assert {name for name in _example(CONTROL_PLANE) if name.endswith("_BIND")} <= named


def test_nothing_can_be_reached_from_elsewhere_unless_an_address_is_named() -> None:
    for file in _FILES:
        for service in _by_its_example(file).values():
            assert {each.address for each in service.published} <= {"127.0.0.1"}


def test_each_server_is_published_where_env_says() -> None:
    binds = {name: "10.77.0.1" for name in _example(CONTROL_PLANE) if name.endswith("_BIND")}
    services = _by_its_example(CONTROL_PLANE, **binds)
    published = {name: list(each.published) for name, each in services.items() if each.published}
    ports = {"web": 8000, "postgres": 5432, "valkey": 6379, "gateway": 8001}
    assert published == {
        name: [Published(address="10.77.0.1", port=port)] for name, port in ports.items()
    }


def test_the_agent_beside_the_control_plane_asks_where_its_servers_are_published() -> None:
    services = _by_its_example(CONTROL_PLANE, WEB_BIND="10.77.0.1", BROKER_BIND="10.77.0.1")
    agent, web = services["agent"].environment, services["web"].environment
    assert urlsplit(agent["CONTROL_PLANE_URL"]).netloc == "10.77.0.1:8000"
    assert urlsplit(agent["BROKER_URL"]).hostname == "10.77.0.1"
    # By these names our own processes ask, whatever names of the installation are set.
    assert {"web", "10.77.0.1"} < set(web["ALLOWED_HOSTS"].split(","))


def test_artifacts_can_lie_on_storage_of_several_hosts() -> None:
    shared = "/srv/enginehouse/artifacts"
    for file in _FILES:
        services = _by_its_example(file, ARTIFACTS=shared)
        mounted = {
            name: service.volumes["/artifacts"]
            for name, service in services.items()
            if "ARTIFACT_URL" in service.environment
        }
        assert set(mounted.values()) == {shared}


@pytest.mark.parametrize("file", _FILES)
def test_artifacts_can_lie_in_a_bucket_whose_keys_only_its_users_get(file: str) -> None:
    url, key = "s3://engines/artifacts", {"AWS_SECRET_ACCESS_KEY": _SECRET}
    services = _by_its_example(file, ARTIFACT_URL=url, **key)
    users = {each.name for each in processes(build_pool="default") if each.uses_store}
    for name, service in services.items():
        assert (service.environment.get("AWS_SECRET_ACCESS_KEY") == _SECRET) == (name in users)
        if name in users:
            assert service.environment["ARTIFACT_URL"] == url


@pytest.mark.parametrize("file", _FILES)
def test_every_folder_that_a_service_is_told_of_is_mounted(file: str) -> None:
    for service in _by_its_example(file).values():
        report = {each.removeprefix("file://") for each in service.environment.values()}
        assert {each for each in report if each.startswith("/")} <= set(service.volumes)


def test_passwords_as_the_example_has_them_made_are_read_back_from_the_urls() -> None:
    services = _by_its_example(CONTROL_PLANE)
    assert "openssl rand -hex" in (_ROOT / EXAMPLES[CONTROL_PLANE]).read_text()
    read = database(services["web"].environment["DATABASE_URL"])
    assert (read["USER"], read["PASSWORD"]) == ("enginehouse", f"{_SECRET}p")
    assert urlsplit(services["web"].environment["BROKER_URL"]).password == f"{_SECRET}v"


def test_images_build_from_files_that_exist() -> None:
    for file in _FILES:
        for service in source_of(file)["services"].values():
            if "build" in service:
                _check_copied(_ROOT / service["build"]["dockerfile"])


def _check_copied(dockerfile: Path) -> None:
    for copied in re.findall(r"^COPY ((?:\S+ )+)\S+$", dockerfile.read_text(), re.M):
        for source in copied.split():
            assert (_ROOT / source).exists(), f"{dockerfile.name} copies {source}"
