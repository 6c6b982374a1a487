"""A host that names no image leaves Docker alone, also where an engine of it listens."""

import os
import socket
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from workers.agent.containers import ContainerSweep
from workers.runtimes.container.leftovers import clear_containers
from workers.runtimes.container.mark import Mark
from workers.runtimes.launchers import LAUNCHERS


@pytest.fixture
def listener(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """What DOCKER_HOST names: whoever connects there can be seen."""
    for name in ("VLLM_IMAGE", "TRTLLM_IMAGE", "VLLM_PYTHON", "TRTLLM_PYTHON"):
        monkeypatch.delenv(name, raising=False)
    # Paths of sockets are short, so pytest's own folders are too deep.
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as outcome:
        outcome.bind(f"{folder}/docker.sock")
        outcome.listen()
        outcome.setblocking(False)
        monkeypatch.setenv("DOCKER_HOST", f"unix://{folder}/docker.sock")
        yield outcome


def test_a_host_without_images_does_not_connect_to_docker(
    listener: socket.socket, tmp_path: Path
) -> None:
    for launcher in LAUNCHERS.values():
        launcher.installed(os.environ, own_python="python")
    clear_containers(Mark(lease="build/aaaaa/1", instance=str(tmp_path)))
    with ThreadPoolExecutor(1) as pool:
        ContainerSweep(tmp_path, dict(os.environ)).begin(pool)
    with pytest.raises(BlockingIOError):  # nobody is waiting to be let in
        listener.accept()
