"""A Docker engine of the tests' own, and an image made from the Python that runs them."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from docker.api import APIClient

from tests.workers.agent.stage import until
from tests.workers.runtimes.container.python_image import python_image

REFERENCE = "enginehouse-test/vllm:0.25.1"


@dataclass(frozen=True, kw_only=True)
class Docker:
    """The engine under test, and how a process is told of it."""

    address: str
    image_id: str

    @property
    def environment(self) -> dict[str, str]:
        return {"DOCKER_HOST": self.address}

    def ask(self, question: Callable[[Any], Any]) -> Any:
        """Return what the engine's client gives."""
        with closing(APIClient(base_url=self.address, timeout=60)) as client:
            return question(client)

    def containers(self, instance: str) -> list[dict[str, Any]]:
        """Return all containers of an installation, running or not."""
        found = {"label": [f"enginehouse.instance={instance}"]}
        return list(self.ask(lambda client: client.containers(all=True, filters=found)))

    def inspect(self, instance: str) -> dict[str, Any]:
        """Return all of the installation's one container."""
        (one,) = self.containers(instance)
        return dict(self.ask(lambda client: client.inspect_container(one["Id"])))

    def remove_all(self, instance: str) -> None:
        for each in self.containers(instance):
            self.ask(lambda client, id=each["Id"]: client.remove_container(id, force=True))


@pytest.fixture(scope="session")
def docker_address() -> Iterator[str]:
    """A private Docker engine that runs as long as the tests do; skips where none can."""
    if os.getuid() != 0 or shutil.which("dockerd") is None:
        pytest.skip("no Docker engine to start here: `make containers` says what to install")
    # Paths of sockets are short, so pytest's own folders are too deep.
    folder = Path(tempfile.mkdtemp(prefix="eh-docker-"))
    with (folder / "log").open("wb") as log:
        engine = subprocess.Popen(
            # It ends with this process, however that ends.
            ["setpriv", "--pdeathsig", "KILL", "dockerd", "--host", f"unix://{folder}/docker.sock", "--data-root", f"{folder}/data",
             "--exec-root", f"{folder}/exec", "--pidfile", f"{folder}/pid", "--bridge", "none",
             "--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false"],
            stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    address = f"unix://{folder}/docker.sock"
    try:
        until(lambda: engine.poll() is not None or _listens(folder), 60, "Docker's start")
        if engine.poll() is not None:
            pytest.skip(f"dockerd does not run here: {(folder / 'log').read_text()[-300:]}")
        yield address
    finally:
        # With the containerd that it started; its containers have ended with their tests.
        os.killpg(engine.pid, signal.SIGKILL)
        engine.wait(60)
        _remove(folder)


@pytest.fixture(scope="session")
def docker(docker_address: str) -> Docker:
    """That engine with an image that has a `python3` and looks as if it had vLLM."""
    repository, tag = REFERENCE.split(":")
    with closing(APIClient(base_url=docker_address, timeout=120)) as client:
        client.import_image_from_data(
            python_image(),
            repository=repository,
            tag=tag,
            changes=["ENV PATH=/usr/bin"],
        )
        image_id = str(client.inspect_image(REFERENCE)["Id"])
    return Docker(address=docker_address, image_id=image_id)


def _listens(folder: Path) -> bool:
    # The SDK leaves a socket open where nobody listens, so it is asked later.
    with socket.socket(socket.AF_UNIX) as attempt:
        return attempt.connect_ex(f"{folder}/docker.sock") == 0


def _remove(folder: Path) -> None:
    mounts = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    for mount in reversed([each for each in mounts if each.startswith(f"{folder}/")]):
        subprocess.run(["umount", "--lazy", mount], check=False)
    shutil.rmtree(folder, ignore_errors=True)
