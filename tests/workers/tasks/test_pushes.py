"""A build worker pushes an artifact to the loopback hub; what is cut off is not sent twice."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from apps.builds.models import Artifact, ArtifactPush
from apps.builds.pushes.requests import push_cancel, push_request, push_retry
from apps.secrets.services.values import secret_set
from controlplane import clock
from controlplane.artifacts import ArtifactStore
from tests import factories
from tests.hub_server import HubServer
from tests.waiting import wait_for
from tests.workers.tasks.hands import Sweeper
from tests.workers.tasks.pair import Pair
from workers.build_steps.processes import LEASE_VARIABLE, environment, living

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.recovery,
    pytest.mark.process,
]
WORKERS = 1
UNDER_ITS_ROLE = True
"""The worker knows no more of the database than is made for it."""
TOKEN = "hf_canary_of_the_worker"
FILES = {
    "config.json": b"{}",
    "a.safetensors": b"first" * 50_000,
    "b.safetensors": b"second" * 50_000,
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    return (tmp_path_factory.mktemp("pushes") / "store").as_uri()


@pytest.fixture(scope="module", autouse=True)
def running_hub(live_server: Any, store: str) -> Iterator[HubServer]:
    """A hub that the workers of these tests push to, beside a control plane that they ask."""
    with HubServer() as started, pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_ENDPOINT", started.url)
        patch.setenv("CONTROL_PLANE_URL", live_server.url)
        patch.setenv("ARTIFACT_URL", store)
        yield started


@pytest.fixture
def hub(running_hub: HubServer, live_server: Any, settings: Settings) -> HubServer:
    """The hub with one repository, of which nobody has asked anything."""
    running_hub.repositories.clear()
    running_hub.add("org/name", {"README.md": b"mine"}, private=True, writers={TOKEN})
    running_hub.repositories["org/name"].readers = frozenset({TOKEN})
    running_hub.holds_blobs_after = None
    running_hub.blob_is_held.clear()
    for kept in (running_hub.requests, running_hub.blobs):
        kept.clear()
    settings.HF_ENDPOINT = running_hub.url
    settings.CONTROL_PLANE_URL = live_server.url
    return running_hub


@pytest.fixture
def artifact(
    hub: HubServer, pair: Pair, store: str, settings: Settings, tmp_path: Path
) -> Artifact:
    """An artifact of the worker's pool, and the secret that writes to the hub."""
    settings.KEY_RING_FILE = tmp_path / "keys" / "secrets.keyring"
    settings.ARTIFACT_URL = store
    (tmp_path / "model").mkdir()
    for path, content in FILES.items():
        (tmp_path / "model" / path).write_bytes(content)
    published = ArtifactStore.open(settings.ARTIFACT_URL).publish(tmp_path / "model", {})
    artifact = factories.make_artifact(
        content_digest=published.content_digest, size_bytes=published.size_bytes
    )
    factories.make_finished_build(team=artifact.team, artifact=artifact, pool=pair.pool)
    secret_set(team=artifact.team, name="hf_write", value=TOKEN)
    return artifact


def pushed(artifact: Artifact) -> ArtifactPush:
    """Ask for it once the hub stands as it should: the worker begins at once."""
    return push_request(artifact=artifact, destination="hf://org/name", secret_name="hf_write")


def fresh(push: ArtifactPush) -> ArtifactPush:
    push.refresh_from_db()
    return push


def there(hub: HubServer) -> dict[str, bytes]:
    repository = hub.repositories["org/name"]
    return repository.commits[repository.branches["main"]]


def wait_for_end(push: ArtifactPush, pair: Pair) -> ArtifactPush:
    wait_for(
        lambda: fresh(push).finished_at, what=lambda: pair.words()[-3000:], meanwhile=Sweeper()
    )
    return fresh(push)


def wait_until_held(hub: HubServer, pair: Pair) -> None:
    wait_for(hub.blob_is_held.is_set, what=lambda: pair.words()[-3000:])


def children(push: ArtifactPush) -> list[int]:
    marker = f"push/{push.id}/"
    outcome = living(lambda each: environment(each.pid).get(LEASE_VARIABLE, "").startswith(marker))
    return [each.pid for each in outcome]


def puts(hub: HubServer) -> list[str]:
    return [each.path for each in hub.requests if each.method == "PUT"]


@pytest.mark.long  # tests/apps/leases, build_steps/pushing/test_hub.py
def test_a_worker_that_is_killed_leaves_the_push_to_the_next_and_nothing_is_sent_twice(
    artifact: Artifact, hub: HubServer, pair: Pair
) -> None:
    hub.holds_blobs_after = 1
    push = pushed(artifact)
    wait_until_held(hub, pair)
    arrived = puts(hub)[0]
    (pid,) = pair.pids
    pair.take(pid).kill()
    assert set(there(hub)) == {"README.md"}
    wait_for(lambda: not children(push), what="the end of the orphan")
    hub.holds_blobs_after = None
    sent_before = len(puts(hub))
    ArtifactPush.objects.update(created_at=clock.now() - timedelta(minutes=1))
    ended = wait_for_end(push, pair)
    assert (ended.state, ended.failure, ended.lease_claims) == ("succeeded", None, 2)
    assert {path: there(hub)[path] for path in FILES} == FILES
    assert len(hub.repositories["org/name"].commits) == 2
    assert arrived not in puts(hub)[sent_before:]
    assert ended.done_bytes == ended.artifact.size_bytes
    assert ended.result["commit"] == hub.repositories["org/name"].branches["main"]


def test_a_push_is_cancelled_under_a_silent_hub_shows_no_secret_and_is_tried_again(
    artifact: Artifact, hub: HubServer, pair: Pair
) -> None:
    hub.holds_blobs_after = 1
    push = pushed(artifact)
    wait_until_held(hub, pair)
    seen = [Path(f"/proc/{pid}/{each}").read_bytes() for pid in children(push)
            for each in ("environ", "cmdline")]  # fmt: skip
    assert seen
    push_cancel(push=push)
    # The hub answers what it holds at its own end alone: nobody has waited for that.
    assert wait_for_end(push, pair).state == "cancelled"
    assert not children(push)
    hub.holds_blobs_after = None
    push_retry(push=push)
    assert wait_for_end(push, pair).state == "succeeded"
    rows = json.dumps(list(ArtifactPush.objects.values()), default=str)
    assert TOKEN not in rows + pair.words()
    assert TOKEN.encode() not in b"".join(seen)
    assert TOKEN in {each.token for each in hub.requests}


def test_what_the_hub_refuses_stands_on_the_row(
    artifact: Artifact, hub: HubServer, pair: Pair
) -> None:
    hub.repositories["org/name"].writers = frozenset()
    ended = wait_for_end(pushed(artifact), pair)
    assert (ended.state, ended.failure["code"]) == ("failed", "EHU-DENIED")  # type: ignore[index]
    assert "`hf_write`" in ended.failure["sentence"]  # type: ignore[index]
