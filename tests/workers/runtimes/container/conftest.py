"""A Docker engine of the tests' own, and an image made from the Python that runs them."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from docker.api import APIClient
from docker.errors import APIError

from tests.waiting import DEADLINE_SECONDS, wait_for
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
        with closing(APIClient(base_url=self.address, timeout=DEADLINE_SECONDS)) as client:
            return question(client)

    def containers(self, instance: str) -> list[dict[str, Any]]:
        """Return all containers of an installation, running or not."""
        values = {"label": [f"enginehouse.instance={instance}"]}
        return list(self.ask(lambda client: client.containers(all=True, filters=values)))

    def inspect(self, instance: str) -> dict[str, Any]:
        """Return all of the installation's one container."""
        (one,) = self.containers(instance)
        return dict(self.ask(lambda client: client.inspect_container(one["Id"])))

    def remove_all(self, instance: str) -> None:
        for each in self.containers(instance):
            self.ask(lambda client, id=each["Id"]: client.remove_container(id, force=True))


@dataclass
class Engine:
    """A private Docker engine in a folder of its own."""

    folder: Path
    process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"unix://{self.folder}/docker.sock"

    def start(self, programs: Path | None = None) -> None:
        """Return once it answers; skips where none can run. `programs` come before all others."""
        if os.getuid() != 0 or shutil.which("dockerd") is None:
            pytest.skip("no Docker engine to start here: `make containers` says what to install")
        folder = self.folder
        with (folder / "log").open("ab") as log:
            self.process = process = subprocess.Popen(
                # It ends with this process, however that ends.
                ["setpriv", "--pdeathsig", "KILL", "dockerd", "--host", self.address,
                 "--data-root", f"{folder}/data", "--exec-root", f"{folder}/exec",
                 "--pidfile", f"{folder}/pid", "--bridge", "none", "--iptables=false",
                 "--ip6tables=false", "--ip-forward=false", "--ip-masq=false"],
                stdout=log, stderr=log, start_new_session=True,
                env={**os.environ, "PATH": f"{programs or folder}:{os.environ['PATH']}"},
            )  # fmt: skip
        wait_for(lambda: process.poll() is not None or _listens(folder), what="Docker's start")
        if process.poll() is not None:
            pytest.skip(f"dockerd does not run here: {(folder / 'log').read_text()[-300:]}")
        with closing(APIClient(base_url=self.address, timeout=DEADLINE_SECONDS)) as client:
            client.ping()

    def kill(self) -> None:
        """Kill it with the containerd that it started, not with what runs in containers."""
        # One that has ended is let be: its number may be another process's by now.
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(DEADLINE_SECONDS)
        for left in ("pid", "exec/containerd/containerd.pid"):
            (self.folder / left).unlink(missing_ok=True)

    def end(self) -> None:
        """End it and all that a failed test may have left in it."""
        try:
            if self.process is not None and self.process.poll() is None:
                with closing(APIClient(base_url=self.address, timeout=DEADLINE_SECONDS)) as client:
                    for each in client.containers(all=True):
                        client.remove_container(each["Id"], force=True)
        finally:
            self.kill()
            wait_for(lambda: not _kill_processes_of(self.folder), what="the end of Docker")

    def import_image(self) -> Docker:
        """Return the engine with an image that has a `python3` and looks as if it had vLLM."""
        repository, tag = REFERENCE.split(":")
        with closing(APIClient(base_url=self.address, timeout=DEADLINE_SECONDS)) as client:
            client.import_image_from_data(
                python_image(), repository=repository, tag=tag, changes=["ENV PATH=/usr/bin"]
            )
            image_id = str(client.inspect_image(REFERENCE)["Id"])
            _skip_where_nothing_starts(client, image_id)
        return Docker(address=self.address, image_id=image_id)


@contextmanager
def private_engine() -> Iterator[Engine]:
    """Give an engine that is not yet started, and leave nothing of it."""
    # Paths of sockets are short, so pytest's own folders are too deep.
    engine = Engine(Path(tempfile.mkdtemp(prefix="eh-docker-")))
    try:
        yield engine
    finally:
        try:
            engine.end()
        finally:
            _remove(engine.folder)


@pytest.fixture(scope="session")
def docker() -> Iterator[Docker]:
    """An engine that runs as long as the tests do."""
    with private_engine() as engine:
        engine.start()
        yield engine.import_image()


def _skip_where_nothing_starts(client: Any, image_id: str) -> None:
    """Skip where Docker's engine answers but may start nothing: itself in a tight container."""
    none = client.create_host_config(network_mode="host")
    trial = client.create_container(image_id, ["python3", "-c", ""], host_config=none)["Id"]
    try:
        client.start(trial)
        client.wait(trial, timeout=DEADLINE_SECONDS)
    except APIError as error:
        pytest.skip(f"Docker starts no container here: {error.explanation}")
    finally:
        client.remove_container(trial, force=True)


def _listens(folder: Path) -> bool:
    # The SDK leaves a socket open where nobody listens, so it is asked later.
    with socket.socket(socket.AF_UNIX) as attempt:
        return attempt.connect_ex(f"{folder}/docker.sock") == 0


def _kill_processes_of(folder: Path) -> list[int]:
    """Return those that were killed: containerd, its shims, and what is left in containers."""
    outcome = [int(each.name) for each in Path("/proc").iterdir() if each.name.isdecimal()]
    ours = [pid for pid in outcome if _belongs_to(pid, folder)]
    for pid in ours:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return ours


def _belongs_to(pid: int, folder: Path) -> bool:
    """Return whether the process was started with this folder, or has its root there."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
        mounts = Path(f"/proc/{pid}/mountinfo").read_text().splitlines()
    except OSError:  # it has ended
        return False
    roots = [line for line in mounts if line.split()[4] == "/"]
    return f"{folder}/".encode() in command or any(f"{folder}/" in line for line in roots)


def _remove(folder: Path) -> None:
    mounts = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    for mount in reversed([each for each in mounts if each.startswith(f"{folder}/")]):
        subprocess.run(["umount", "--lazy", mount], check=False)
    shutil.rmtree(folder, ignore_errors=True)
