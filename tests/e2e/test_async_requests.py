"""Kill -9 of every kind of process while asynchronous requests are queued and one is in flight.

What was accepted is answered and told, each with one outcome; at most what was in flight is asked
twice, as docs/async_requests.md says.
"""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import psycopg
import pytest

from tests.e2e.installation import Installation, eventually, installation
from tests.waiting import DEADLINE_SECONDS, wait_for
from tests.webhook_receiver import WebhookReceiver

pytestmark = [pytest.mark.recovery, pytest.mark.e2e, pytest.mark.long]

REQUESTS = 6
TOKENS = 300
"""Of each answer: long enough that the others are queued when something is killed."""
_ANSWERED = "SELECT coalesce(sum(requests), 0) FROM telemetry_usageminute WHERE status_class = 2"
_OPEN = ("QUEUED", "IN_PROGRESS")


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ALLOW_PRIVATE_ADDRESSES", "1")  # for the receiver of webhooks
        with installation(tmp_path_factory.mktemp("up")) as running:
            yield running


@pytest.fixture(scope="module")
def model_id(here: Installation) -> str:
    return str(here.deploy()["id"])


@pytest.fixture
def receiver() -> Iterator[WebhookReceiver]:
    with WebhookReceiver() as started:
        yield started


@pytest.fixture
def client(here: Installation) -> Iterator[httpx.Client]:
    headers = {"Authorization": f"Api-Key {here.api_key}"}
    with httpx.Client(headers=headers, timeout=DEADLINE_SECONDS, trust_env=False) as client:
        yield client


@pytest.mark.parametrize(
    "kind",
    ["postgres", "valkey", "web", "gateway", "scheduler", "control", "async", "agent", "engine"],
)
def test_what_was_accepted_is_answered_and_told_though_something_is_killed(
    here: Installation, model_id: str, receiver: WebhookReceiver, client: httpx.Client, kind: str
) -> None:
    eventually(lambda: _is_ready(here, model_id), what="a replica before the kill")
    base = f"{here.services.gateway_url}/m/{model_id}"
    before = _answered(here)
    ids = [_accepted(client, base, receiver.url(f"/{number}")) for number in range(REQUESTS)]
    wait_for(lambda: "IN_PROGRESS" in _statuses(client, base, ids), what="one in flight")
    assert "QUEUED" in _statuses(client, base, ids)

    here.kill(kind)

    def all_have_ended() -> bool:
        return not set(_statuses(client, base, ids)) & set(_OPEN)

    eventually(all_have_ended, what="the end of all of them")
    assert _statuses(client, base, ids) == ["SUCCEEDED"] * REQUESTS
    eventually(lambda: len(_told(receiver)) == REQUESTS, what="a webhook of each")
    assert _told(receiver).keys() == set(ids)
    assert all(len(set(bodies)) == 1 for bodies in _told(receiver).values()), "one outcome each"
    eventually(lambda: _answered(here) - before >= REQUESTS, what="their usage")
    assert _answered(here) - before <= REQUESTS + 1, "only what was in flight is asked twice"


def _is_ready(here: Installation, model_id: str) -> bool:
    shown = here.get(f"models/{model_id}/deployments/production")
    return bool(shown["active_replica_count"] == 1)


def _accepted(client: httpx.Client, base: str, webhook: str) -> str:
    question = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": TOKENS,
                "ignore_eos": True}  # fmt: skip
    answer = client.post(
        f"{base}/environments/production/async_predict",
        json={"model_input": question, "webhook_endpoint": webhook},
    )
    assert answer.status_code == httpx.codes.CREATED, answer.text
    return str(answer.json()["request_id"])


def _statuses(client: httpx.Client, base: str, ids: list[str]) -> list[str]:
    answers = [client.get(f"{base}/async_request/{each}") for each in ids]
    return [each.raise_for_status().json()["status"] for each in answers]


def _told(receiver: WebhookReceiver) -> dict[str, list[bytes]]:
    """Return what was told of each request; what is no outcome of a model counts as nothing."""
    told: dict[str, list[bytes]] = {}
    for each in list(receiver.posted):
        content: dict[str, Any] = json.loads(each.body)
        if content["data"]["choices"]:
            told.setdefault(content["request_id"], []).append(each.body)
    return told


def _answered(here: Installation) -> int:
    """Return how many answers were counted: nobody else asks here."""
    with psycopg.connect(here.services.database_url, connect_timeout=5) as connection:
        row = connection.execute(_ANSWERED).fetchone()
    return 0 if row is None else int(row[0])
