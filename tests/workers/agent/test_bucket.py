"""An agent whose artifacts lie in a bucket: no folder is shared with it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apps.deployments.models import Deployment, Replica
from apps.deployments.services.sweeping import deployments_sweep
from controlplane.clock import SYSTEM
from tests.artifacts.places import BucketPlace
from tests.bucket_server import BucketServer
from tests.factories import make_artifact
from tests.waiting import seldom, wait_for
from tests.workers.agent.stage import AgentProcess, deploy, wait_for_state

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.process]


@pytest.fixture
def bucket(settings: Any, agent: AgentProcess) -> Iterator[BucketPlace]:
    with BucketServer("S3", clock=SYSTEM) as server:
        place = BucketPlace(server)
        settings.ARTIFACT_URL = place.url
        agent.extra = place.variables
        yield place


def publish(bucket: BucketPlace, folder: Path, text: str) -> Any:
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "weights").write_text(text)
    return make_artifact(content_digest=bucket.open().publish(folder, {}).content_digest)


def processes_of(agent: AgentProcess, replica: Replica) -> Iterator[str]:
    for pid in agent.processes(replica.id):
        yield Path(f"/proc/{pid}/environ").read_text()
        yield Path(f"/proc/{pid}/cmdline").read_text()


def test_a_replica_starts_from_the_bucket_and_serves_on_without_it(
    agent: AgentProcess, bucket: BucketPlace, tmp_path: Path
) -> None:
    deployment = deploy(publish(bucket, tmp_path / "first", "first"))
    agent.start()
    wait_for_state(deployment, "active")
    replica = deployment.replicas.get()
    seen = list(processes_of(agent, replica))
    assert seen
    assert not [each for each in seen if "AWS_" in each or bucket.secret in each]
    assert bucket.secret not in agent.folder(replica.id).log.read_text()
    other = publish(bucket, tmp_path / "other", "other")
    # From here on the store answers nobody: each request is refused.
    bucket.server.is_skewed = True
    failed = _wait_for_failure(deploy(other, "other"))
    assert failed.failure["code"] == "EHA-CLOCK"
    assert bucket.server.endpoint in failed.failure["sentence"]
    assert agent.processes(replica.id), "the engine that served has ended"
    wait_for_state(deployment, "active")


def test_a_copy_that_is_here_starts_while_the_store_is_away(
    agent: AgentProcess, bucket: BucketPlace, tmp_path: Path
) -> None:
    artifact = publish(bucket, tmp_path / "first", "first")
    deployment = deploy(artifact)
    agent.start()
    wait_for_state(deployment, "active")
    bucket.server.is_skewed = True
    again = deploy(artifact, "again")
    wait_for_state(again, "active")


def _wait_for_failure(deployment: Deployment) -> Replica:
    return wait_for(
        lambda: deployment.replicas.filter(state="failed").first(),
        what="a replica that says why it does not start",
        meanwhile=seldom(deployments_sweep),
    )
