"""A real agent process beside a real web server, with engines that start in a tenth of a second."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.workers.agent.stage import ENGINE, AgentProcess, deploy, publish, wait_for_state

if TYPE_CHECKING:
    from apps.builds.models import Artifact
    from apps.deployments.models import Deployment


@pytest.fixture
def agent(live_server: Any, broker: str, tmp_path: Path) -> Iterator[AgentProcess]:
    """An agent with a token to enroll with, not yet started."""
    from apps.fleet.services.enrollment import enrollment_token_create

    process = AgentProcess(
        data_dir=tmp_path,
        environment={
            "PATH": os.environ["PATH"],
            "DATA_DIR": str(tmp_path),
            "CONTROL_PLANE_URL": live_server.url,
            "BROKER_URL": broker,
            "NODE_NAME": "host-1",
            "NODE_ADDRESS": "127.0.0.1",
            "ENROLLMENT_TOKEN": enrollment_token_create(),
            "ENGINE_PYTHON": str(ENGINE),
            "ENGINE_DRAIN_SECONDS": "5",
        },
    )
    yield process
    process.end()


@pytest.fixture
def artifact(settings: Any, tmp_path: Path) -> "Artifact":
    """A published folder with a little file in it."""
    return publish(settings, tmp_path, {})


@pytest.fixture
def deployment(artifact: "Artifact") -> "Deployment":
    """A deployment of that artifact, which waits for a node."""
    return deploy(artifact)


@pytest.fixture
def serving(agent: AgentProcess, deployment: "Deployment") -> "tuple[AgentProcess, Deployment]":
    """An agent whose deployment has become active."""
    agent.start()
    wait_for_state(deployment, "active")
    return agent, deployment
