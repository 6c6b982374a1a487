"""A deployment in a container, by a real agent beside a real web server, killed at every place."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apps.deployments.models import Deployment, Replica
from apps.fleet.models import Node
from tests.waiting import wait_for
from tests.workers.agent.conftest import agent as agent
from tests.workers.agent.stage import AgentProcess, deploy, publish, wait_for_state
from tests.workers.runtimes.container.conftest import REFERENCE, Docker
from workers.agent.identity import send_signal

pytestmark = [pytest.mark.process, pytest.mark.recovery, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def deployment(settings: Any, tmp_path: Path) -> Deployment:
    """A deployment that vLLM is to serve."""
    made = deploy(publish(settings, tmp_path, {}))
    made.runtime, made.spec = "vllm", {**made.spec, "enginehouse": {"runtime": "vllm"}}
    made.save()
    return made


@pytest.fixture
def serving(docker: Docker, agent: AgentProcess, deployment: Deployment) -> Iterator[AgentProcess]:
    """The agent of a host that starts vLLM from an image, once it serves."""
    agent.extra = {
        **docker.environment,
        "VLLM_IMAGE": REFERENCE,
        "ENGINE_CACHE_DIR": str(agent.data_dir / "cache"),
    }
    agent.start()
    wait_for_state(deployment, "active")
    yield agent
    agent.end()
    docker.remove_all(instance(agent))


def instance(agent: AgentProcess) -> str:
    return str((agent.data_dir / "agent" / "replicas").resolve())


def test_agent_and_runner_are_killed_and_no_container_is_left_behind(
    serving: AgentProcess, docker: Docker, deployment: Deployment
) -> None:
    assert Node.objects.get().runtimes == ["native", "vllm"]
    first = docker.inspect(instance(serving))["Id"]
    replica = deployment.replicas.get()

    serving.signal(signal.SIGKILL)
    serving.start()
    wait_for(lambda: "adopted" in serving.log, what=lambda: f"adoption in {serving.log}")
    assert docker.inspect(instance(serving))["Id"] == first

    serving.signal(signal.SIGKILL)
    send_signal(serving.folder(replica.id).runner(), signal.SIGKILL)
    # Nobody is there to stop it: it ends with the process that stood for it.
    wait_for(
        lambda: docker.inspect(instance(serving))["State"]["Status"] == "exited",
        what="the end of the container",
    )

    serving.start()
    wait_for(
        lambda: Replica.objects.get(id=replica.id).state == "failed", what="its end to be told"
    )
    failed = Replica.objects.get(id=replica.id)
    assert failed.failure["code"] == "EHN-RUNNER-KILLED"
    wait_for_state(deployment, "active")
    assert docker.inspect(instance(serving))["Id"] != first
    os.kill(deployment.replicas.get(state="ready").pid, signal.SIGKILL)
    wait_for(lambda: deployment.replicas.filter(state="failed").count() == 2, what="the second end")
