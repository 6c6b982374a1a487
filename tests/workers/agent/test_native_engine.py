"""The real engine under the agent: ordered, ready, asked, killed, replaced, drained."""

import json
import os
import signal
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from apps.deployments.models import Deployment, Replica
from apps.deployments.served_models.services import model_create
from apps.deployments.services.deployments import deployment_deactivate
from apps.fleet.models import Device
from controlplane.artifacts import ArtifactStore
from controlplane.domain.facts import checkpoints
from tests.factories import make_artifact, make_revision
from tests.factories_serving import make_servable_build
from tests.tiny_checkpoint import make_tiny_checkpoint
from tests.waiting import DEADLINE_SECONDS, wait_for
from tests.workers.agent.stage import AgentProcess, wait_for_state

pytestmark = [
    pytest.mark.process,
    pytest.mark.recovery,
    pytest.mark.engine,
    pytest.mark.django_db(transaction=True),
]


@pytest.fixture
def tiny(settings: Any, tmp_path: Path) -> Deployment:
    """A deployment of a random checkpoint of half a megabyte."""
    settings.ARTIFACT_URL = (tmp_path / "artifacts").as_uri()
    folder = make_tiny_checkpoint(tmp_path / "tiny")
    published = ArtifactStore.open(settings.ARTIFACT_URL).publish(folder, {"format": 1})
    facts = checkpoints.read(
        json.loads((folder / "config.json").read_text()),
        files=[entry.path for entry in published.files],
        weight_bytes=(folder / "model.safetensors").stat().st_size,
        parameters=None,
        has_chat_template=True,
        commit="c",
    )
    artifact = make_artifact(content_digest=published.content_digest)
    build = make_servable_build(revision=make_revision(team=artifact.team), artifact=artifact)
    build.steps.filter(name="inspect").update(result={"checkpoint": facts.model_dump(mode="json")})
    return model_create(team=artifact.team, name="tiny", build=build)[1]


@pytest.mark.parametrize(
    "is_killed",
    [
        pytest.param(False, id="drains"),
        # test_agent.py kills an engine that starts in less
        pytest.param(True, id="dies, comes back and drains", marks=pytest.mark.long),
    ],
)
def test_the_native_engine_serves(agent: AgentProcess, tiny: Deployment, is_killed: bool) -> None:
    agent.environment["ENGINE_PYTHON"] = sys.executable
    agent.start()
    wait_for_state(tiny, "active")
    first = wait_for(
        lambda: tiny.replicas.filter(report__isnull=False).first(), what="the engine's report"
    )
    assert _answer(first)["usage"]["completion_tokens"] == 4
    assert first.report["kv_tokens"] > 0
    is_half = Device.objects.get(node=first.node, kind="CPU").computes_bfloat16
    assert first.report["dtype"] == ("bfloat16" if is_half else "float32")
    assert first.report["kv_cache_bytes"] == first.report["kv_cache_planned_bytes"]
    measured = wait_for(
        lambda: Replica.objects.get(id=first.id).metrics, what="the engine's measurements"
    )
    assert "completion_tokens_total" in measured

    last = _replaced(tiny, first) if is_killed else first
    assert _answer(last)["usage"]["completion_tokens"] == 4
    deployment_deactivate(deployment=tiny)
    wait_for_state(tiny, "inactive")
    assert Replica.objects.get(id=last.id).state == "stopped"
    assert agent.processes(last.id) == []


def _replaced(deployment: Deployment, first: Replica) -> Replica:
    """Kill the engine of a replica, and return the replica that comes in its place."""
    assert first.pid is not None
    os.kill(first.pid, signal.SIGKILL)
    wait_for(lambda: Replica.objects.get(id=first.id).state == "failed", what="its end to be told")
    wait_for(deployment.replicas.filter(state="ready").exists, what="its replacement")
    return deployment.replicas.get(state="ready")


def _answer(replica: Replica) -> dict[str, Any]:
    request = urllib.request.Request(
        f"http://{replica.host}:{replica.port}/v1/chat/completions",
        data=json.dumps(
            {
                "model": "anything",
                "messages": [{"role": "user", "content": "Hello"}],
                "max_tokens": 4,
                "ignore_eos": True,
                "temperature": 0,
            }
        ).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=DEADLINE_SECONDS) as answer:
        content: dict[str, Any] = json.load(answer)
    return content
