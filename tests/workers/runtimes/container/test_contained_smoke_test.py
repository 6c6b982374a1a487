"""The smoke test of a build in a container: it answers, and a killed worker leaves none."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from controlplane.artifacts import ArtifactStore
from tests.factories_serving import CHECKPOINT
from tests.waiting import wait_for
from tests.workers.build_steps.supervising import Supervisor
from tests.workers.runtimes.container.conftest import REFERENCE, Docker
from tests.workers.runtimes.container.test_contained_replica import spec
from workers.build_steps import outputs
from workers.build_steps.child import OutcomeKind, Verdict
from workers.runtimes.container.leftovers import reap_containers

pytestmark = [pytest.mark.process, pytest.mark.recovery]


@pytest.fixture
def supervisor(
    docker: Docker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Supervisor]:
    """A build worker's supervisor on a host that starts vLLM from an image."""
    here = {**docker.environment, "VLLM_IMAGE": REFERENCE, "ENGINE_CACHE_DIR": str(tmp_path / "c")}
    for name, value in here.items():
        monkeypatch.setenv(name, value)
    yield (outcome := Supervisor(folder=tmp_path))
    docker.remove_all(outcome.instance)


@pytest.fixture
def job(supervisor: Supervisor, tmp_path: Path) -> Path:
    """The job of a smoke test, after steps that are done."""
    return make_job(supervisor, tmp_path, "config.json")


@pytest.fixture
def endless_job(supervisor: Supervisor, tmp_path: Path) -> Path:
    """The same with an engine that runs and never answers."""
    return make_job(supervisor, tmp_path, "config.json", "never-ready")


def make_job(supervisor: Supervisor, tmp_path: Path, *files: str) -> Path:
    source = tmp_path / "source"
    source.mkdir()
    for name in files:
        (source / name).write_text("{}")
    artifacts = ArtifactStore.open((tmp_path / "artifacts").as_uri())
    digest = artifacts.publish(source, {"format": 1}).content_digest
    done: dict[str, dict[str, Any]] = {
        "package": {"content_digest": digest},
        "inspect": {"checkpoint": {**CHECKPOINT, "has_chat_template": True}},
    }
    for step, values in done.items():
        (tmp_path / step).mkdir()
        outputs.seal(tmp_path / step, step=step, values=values, digests={})
    return supervisor.job("smoke_test", spec(), **{step: tmp_path / step for step in done})


def test_it_answers_and_its_container_is_gone(
    supervisor: Supervisor, docker: Docker, job: Path
) -> None:
    outcome = supervisor.run(supervisor.command("smoke_test", job))
    assert outcome.kind is OutcomeKind.FINISHED, supervisor.log.decode()
    assert outcome.values is not None
    assert outcome.values["engine"]["version"] == "0.25.1"
    assert docker.containers(supervisor.instance) == []
    assert f"image {REFERENCE} started" in supervisor.log.decode()


def test_cancel_leaves_no_container(
    supervisor: Supervisor, docker: Docker, endless_job: Path
) -> None:
    def beat() -> Verdict:
        runs = any(each["State"] == "running" for each in docker.containers(supervisor.instance))
        return Verdict.CANCEL if runs else Verdict.CONTINUE

    outcome = supervisor.run(supervisor.command("smoke_test", endless_job), beat, 0.2)
    assert outcome.kind is OutcomeKind.CANCELLED
    assert docker.containers(supervisor.instance) == []


def test_a_container_of_a_dead_lease_is_removed_and_that_of_a_live_one_stays(
    supervisor: Supervisor, docker: Docker
) -> None:
    for lease in ("build/a/1", "build/b/1"):
        labels = {"enginehouse.lease": lease, "enginehouse.instance": supervisor.instance}
        docker.ask(
            lambda client, labels=labels: client.create_container(
                docker.image_id, ["python3"], labels=labels
            )
        )
    dead = reap_containers(
        lambda lease: lease == "build/b/1",
        instance=supervisor.instance,
        environment=docker.environment,
    )
    assert dead == ["build/a/1"]
    left = docker.containers(supervisor.instance)
    assert [each["Labels"]["enginehouse.lease"] for each in left] == ["build/b/1"]


def test_a_killed_step_leaves_no_container(
    supervisor: Supervisor, docker: Docker, endless_job: Path
) -> None:
    killed: list[int] = []

    def beat() -> Verdict:
        for each in docker.containers(supervisor.instance):
            if each["State"] == "running" and not killed:
                step = next(each for each in supervisor.marked() if each.parent == os.getpid())
                killed.append(step.pid)
                os.kill(step.pid, signal.SIGKILL)
        return Verdict.CONTINUE

    outcome = supervisor.run(supervisor.command("smoke_test", endless_job), beat, 0.2)
    assert outcome.kind is OutcomeKind.CRASHED
    assert supervisor.marked() == []
    wait_for(lambda: docker.containers(supervisor.instance) == [], what="the removal")
