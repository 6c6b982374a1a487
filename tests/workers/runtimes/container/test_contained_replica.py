"""A replica in a container, from its preparation to its end, as its agent sees it."""

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from controlplane.artifacts import ArtifactStore
from controlplane.domain.spec import parse_mapping
from tests.factories_serving import CHECKPOINT
from tests.waiting import DEADLINE_SECONDS, wait_for
from tests.workers.runtimes.container.conftest import REFERENCE, Docker, private_engine
from workers.agent.containers import ContainerSweep
from workers.agent.folders import try_lock
from workers.agent.identity import send_signal
from workers.agent.reaping import marked_processes
from workers.agent.replica import Replica
from workers.agent.settings import Settings, read_settings

pytestmark = [pytest.mark.process, pytest.mark.recovery]


class Host:
    """A host whose agent starts vLLM from an image, looked at as its agent's loop does."""

    def __init__(self, docker: Docker, settings: Settings, wanted: dict[str, Any]) -> None:
        self.docker, self.settings, self.wanted = docker, settings, wanted
        self.instance = str(settings.replicas.resolve())
        self.pool = ThreadPoolExecutor(2)
        self.replica = Replica.create(wanted, settings)
        self.known = [self.replica]

    def serve(self) -> dict[str, Any]:
        """Start the replica; its container, once the engine answers."""
        self.replica.start()
        self.wait_for_state("ready")
        return self.docker.inspect(self.instance)

    def adopt(self) -> None:
        """Forget what the agent knew, as its end does, and look into the folder again."""
        self.replica = Replica(self.replica.folder, self.settings)
        self.known.append(self.replica)

    def wait_for_state(self, state: str) -> dict[str, Any]:
        def reached() -> dict[str, Any] | None:
            self.replica.look(self.pool)
            seen = self.replica.observed()
            assert state == "failed" or seen["state"] != "failed", (seen, self.log)
            return seen if seen["state"] == state else None

        return dict(wait_for(reached, what=f"state {state}") or {})

    def wait_for_report(self, name: str, value: object) -> None:
        """Return once its log has come, which has a container's last line after its answer."""

        def is_told() -> bool:
            self.replica.look(self.pool)
            return bool(self.replica.observed()["report"][name] == value)

        wait_for(is_told, what=lambda: self.replica.observed())

    def kill_runner(self) -> None:
        runner = self.replica.folder.runner()
        assert runner is not None
        send_signal(runner, signal.SIGKILL)

    @property
    def containers(self) -> list[dict[str, Any]]:
        return self.docker.containers(self.instance)

    @property
    def log(self) -> str:
        path = self.replica.folder.log
        return path.read_text() if path.exists() else ""


@pytest.fixture
def host(docker: Docker, tmp_path: Path) -> Iterator[Host]:
    """A host with a replica that is wanted and not yet started."""
    with make_host(docker, tmp_path) as found:
        yield found


@contextmanager
def make_host(docker: Docker, tmp_path: Path) -> Iterator[Host]:
    source = tmp_path / "source"
    source.mkdir()
    (source / "config.json").write_text("{}")
    url = (tmp_path / "artifacts").as_uri()
    settings = read_settings(
        {
            **docker.environment,
            "PATH": os.environ["PATH"],
            "DATA_DIR": str(tmp_path),
            "VLLM_IMAGE": REFERENCE,
            "ENGINE_CACHE_DIR": str(tmp_path / "cache"),
            "ENGINE_DRAIN_SECONDS": "15",
            "HF_TOKEN": "a token of the agent's own",
        }
    )
    wanted = {
        "id": "ccccc",
        "generation": 1,
        "runtime": "vllm",
        "spec": spec(),
        "checkpoint": CHECKPOINT,
        "content_digest": ArtifactStore.open(url).publish(source, {"format": 1}).content_digest,
        "artifact_url": url,
        "devices": [],
        "memory_bytes": 8 * 1024**3,
    }
    found = Host(docker, settings, wanted)
    try:
        yield found
    finally:
        _end(found)


def _end(found: Host) -> None:
    for each in found.known:
        each.kill()
        if each._spawned is not None:
            each._spawned.wait(DEADLINE_SECONDS)
    wait_for(lambda: not marked_processes(found.replica.folder), what="the end")
    found.docker.remove_all(found.instance)
    found.pool.shutdown()


def spec() -> dict[str, Any]:
    parsed = parse_mapping(
        {
            "model_name": "tiny",
            "enginehouse": {"runtime": "vllm"},
            "trt_llm": {
                "build": {
                    "checkpoint_repository": {"source": "LOCAL", "repo": "/tiny"},
                    "max_seq_len": 256,
                }
            },
        }
    )
    assert parsed.spec is not None, parsed.errors
    return parsed.spec.model_dump(mode="json")


def test_it_serves_confined_and_the_next_agent_adopts_and_drains_it(host: Host) -> None:
    container = host.serve()
    assert host.replica.observed()["report"]["version"] == "0.25.1"
    host.wait_for_report("kv_tokens", 3_076_000)
    _assert_confined(container, host)
    host.adopt()
    host.wait_for_state("ready")
    assert [each["Id"] for each in host.containers] == [container["Id"]]
    host.replica.stop()
    host.wait_for_state("stopped")
    assert host.containers == []


def _assert_confined(container: dict[str, Any], host: Host) -> None:
    given, config = container["HostConfig"], container["Config"]
    assert container["Image"] == host.docker.image_id
    assert given["CapDrop"] == ["ALL"]
    assert given["SecurityOpt"] == ["no-new-privileges"]
    assert given["ReadonlyRootfs"] is True
    assert given["NetworkMode"] == "host"
    assert (given["Privileged"], given["Memory"], given["Binds"]) == (False, 0, None)
    assert config["User"] == f"{os.getuid()}:{os.getgid()}"
    writable = {each["Destination"] for each in container["Mounts"] if each["RW"]}
    assert writable == {"/enginehouse/cache"}
    seen = {each["Destination"].split("/")[2] for each in container["Mounts"]}
    assert seen <= {"cache", "files", "imports", "models"}, "and never the socket"
    status = Path(f"/proc/{container['State']['Pid']}/status").read_text()
    assert "CapEff:\t0000000000000000" in status
    assert "NoNewPrivs:\t1" in status
    # Of the image's own, the list of what engines may see, and nothing of the agent's.
    names = {each.partition("=")[0] for each in config["Env"]}
    assert "HF_TOKEN" not in names
    assert "DATA_DIR" not in names
    assert {"ENGINEHOUSE_LEASE", "SPT_NOENV", "HF_HUB_OFFLINE", "VLLM_CACHE_ROOT"} <= names
    assert config["Labels"]["enginehouse.lease"] == host.replica.folder.marker
    assert any(each.startswith("/enginehouse/models/") for each in config["Cmd"])


def test_a_killed_runner_leaves_no_container_and_is_told(host: Host) -> None:
    container = host.serve()
    host.kill_runner()
    seen = host.wait_for_state("failed")
    assert seen["failure"]["code"] == "EHN-RUNNER-KILLED"
    assert host.containers == []
    assert not Path(f"/proc/{container['State']['Pid']}/exe").exists()


def test_a_killed_stand_in_leaves_no_container_and_is_told(host: Host) -> None:
    host.serve()
    os.kill(host.replica.observed()["pid"], signal.SIGKILL)
    seen = host.wait_for_state("failed")
    assert "SIGKILL" in seen["failure"]["sentence"]
    assert host.containers == []


def test_an_image_that_is_not_here_fails_the_replica_with_what_to_run(host: Host) -> None:
    passed_on = {**host.settings.passed_on, "VLLM_IMAGE": "vllm/vllm-openai:v0.0.0"}
    host.settings = host.settings.model_copy(update={"passed_on": passed_on})
    host.adopt()
    host.replica.start()
    seen = host.wait_for_state("failed")
    assert seen["failure"]["code"] == "EHN-DOCKER-NO-IMAGE"
    assert "docker pull vllm/vllm-openai:v0.0.0" in seen["failure"]["hint"]


def test_a_docker_engine_that_is_killed_ends_the_replica_and_comes_back_to_none(
    tmp_path: Path,
) -> None:
    with private_engine() as engine:
        engine.start()
        with make_host(engine.import_image(), tmp_path) as host:
            host.serve()
            engine.kill()
            seen = host.wait_for_state("failed")
            assert seen["failure"]["code"] == "EHN-DOCKER-LOST"
            assert marked_processes(host.replica.folder) == []
            assert not host.replica.is_cleared(), "nobody knows while Docker is away"
            engine.start()
            wait_for(host.replica.is_cleared, what="the removal")
            assert host.containers == []


@pytest.fixture
def leave(docker: Docker, host: Host) -> Callable[[str, str], str]:
    """Leave a container that no process stands for, under this lease and installation."""

    def one(lease: str, instance: str) -> str:
        labels = {"enginehouse.lease": lease, "enginehouse.instance": instance}
        stay = ["python3", "-c", "import signal; signal.pause()"]

        def start(client: Any) -> str:
            created = client.create_container(docker.image_id, stay, labels=labels)
            client.start(created["Id"])
            return str(created["Id"])

        return str(docker.ask(start))

    return one


def test_a_container_that_no_runner_stands_behind_is_removed_and_no_other(
    host: Host, leave: Callable[[str, str], str], tmp_path: Path
) -> None:
    other = str(tmp_path / "another installation")
    folder = host.replica.folder
    served = leave(folder.marker, host.instance)
    leave("replica/ddddd/3", host.instance)
    kept = leave("replica/ddddd/3", other)
    runner = try_lock(folder.runner_lock)
    assert runner is not None
    ContainerSweep(host.settings.replicas, host.settings.passed_on).begin(host.pool)
    wait_for(lambda: len(host.containers) == 1, what="the removal")
    os.close(runner)
    assert host.containers[0]["Id"] == served
    assert [each["Id"] for each in host.docker.containers(other)] == [kept]
    host.docker.remove_all(other)
