"""The image of a runtime: there or not, with the runtime or without, and asked only once."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import DEADLINE_SECONDS
from tests.workers.runtimes.container.conftest import REFERENCE, Docker
from workers.runtimes.container.docker_engine import connected, unreachable
from workers.runtimes.container.failures import ContainerRefused
from workers.runtimes.container.image import find_image, version_in
from workers.runtimes.launchers import LAUNCHERS

pytestmark = pytest.mark.process


def environment(docker: Docker, cache: Path) -> dict[str, str]:
    return {**docker.environment, "ENGINE_CACHE_DIR": str(cache)}


def test_vllm_is_installed_where_the_setting_names_an_image_that_has_it(
    docker: Docker, tmp_path: Path
) -> None:
    here = {**environment(docker, tmp_path), "VLLM_IMAGE": REFERENCE}
    installation = LAUNCHERS["vllm"].installed(here, own_python="python")
    assert installation is not None
    assert installation.image is not None
    assert (installation.python, installation.version) == ("python3", "0.25")
    assert (installation.image.id, installation.image.reference) == (docker.image_id, REFERENCE)


def test_the_version_is_asked_of_an_image_once(docker: Docker, tmp_path: Path) -> None:
    here = environment(docker, tmp_path)
    image = find_image(REFERENCE, here)
    assert version_in(image, "vllm", here) == "0.25"
    # Kept by the image's id: where it is known, no engine is asked.
    assert version_in(image, "vllm", {"ENGINE_CACHE_DIR": str(tmp_path)}) == "0.25"
    with connected(here) as engine:
        assert engine.containers(all=True, filters={"ancestor": image.id}) == []


def test_an_image_without_the_runtime_is_refused(docker: Docker, tmp_path: Path) -> None:
    here = {**environment(docker, tmp_path), "TRTLLM_IMAGE": REFERENCE}
    with pytest.raises(ContainerRefused) as refused:
        LAUNCHERS["trtllm"].installed(here, own_python="python")
    assert refused.value.failure.code == "EHN-DOCKER-NO-RUNTIME"
    assert "PackageNotFoundError" in (refused.value.failure.detail or "")


def test_an_image_that_is_not_here_is_told_with_the_command_to_run(docker: Docker) -> None:
    with pytest.raises(ContainerRefused) as refused:
        find_image("vllm/vllm-openai:v0.0.0", docker.environment)
    assert refused.value.failure.code == "EHN-DOCKER-NO-IMAGE"
    assert refused.value.failure.hint == "Run on this host: docker pull vllm/vllm-openai:v0.0.0"


def test_a_host_without_docker_is_told_where_it_was_looked_for(tmp_path: Path) -> None:
    address = f"unix://{tmp_path}/docker.sock"
    # In a process of its own: Docker's SDK leaves a socket open when it cannot connect.
    process = subprocess.run(
        [sys.executable, "-m", "workers.runtimes.container.leftovers", "replica/aaaaa/1", "here"],
        env={**os.environ, "DOCKER_HOST": address},
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
    )
    assert process.returncode == 1
    assert f"No Docker engine answers at `{address}`: its socket is not there." in process.stderr


def test_a_socket_of_others_is_told_with_the_group_to_join() -> None:
    failure = unreachable("unix:///var/run/docker.sock", PermissionError(13, "Permission denied"))
    assert failure.failure.code == "EHN-DOCKER-DENIED"


def test_two_ways_to_start_one_runtime_are_refused() -> None:
    both = {"VLLM_PYTHON": "/opt/vllm/bin/python", "VLLM_IMAGE": "vllm/vllm-openai"}
    with pytest.raises(ContainerRefused) as refused:
        LAUNCHERS["vllm"].installed(both, own_python="python")
    assert refused.value.failure.code == "EHN-DOCKER-SETTINGS"
