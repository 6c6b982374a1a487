"""An asynchronous request through real processes: gateway, queue and worker, and their deaths."""

import json
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.db import transaction
from pytest_django import Settings

from apps.accounts.routes_version import routes_version_bump
from apps.async_requests.leasing import ASYNC_REQUEST
from apps.async_requests.models import AsyncRequest
from apps.fleet.services.enrollment import enrollment_token_create
from apps.leases.sweeping import leases_sweep
from apps.secrets.services.values import secret_set
from controlplane import clock
from tests.factories import make_api_key, make_deployment, make_replica
from tests.gates import Gates
from tests.processes import CeleryWorker
from tests.waiting import DEADLINE_SECONDS, wait_for
from tests.webhook_receiver import WebhookReceiver
from tests.workers.gateway.stage.engine import Call, Engine
from tests.workers.gateway.stage.gateway_process import GatewayProcess

pytestmark = [pytest.mark.process, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def gateway(
    live_server: Any, broker: str, tmp_path: Path, settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[GatewayProcess]:  # fmt: skip
    settings.KEY_RING_FILE = tmp_path / "ring"
    started = GatewayProcess(
        live_server.url, tmp_path / "gateway-1", broker=broker, token=enrollment_token_create()
    )
    with closing(started):
        for name, value in (
            ("CONTROL_PLANE_URL", live_server.url),
            ("GATEWAY_INTERNAL_URL", started.url),
            ("ALLOW_PRIVATE_ADDRESSES", "1"),
        ):
            monkeypatch.setenv(name, value)
        yield started
        started.stop()


@pytest.mark.usefixtures("data_dir")
def test_what_was_accepted_is_answered_and_told_once_though_its_worker_was_killed(
    gateway: GatewayProcess, http_client: httpx.Client
) -> None:
    calls: list[Call] = []
    goes_on = threading.Event()

    def held(call: Call) -> None:
        calls.append(call)
        if len(calls) == 1:
            call.wait_for_hang_up()  # the first worker is killed, so the gateway leaves
        else:
            goes_on.wait(DEADLINE_SECONDS)
            call.answer({"choices": [{"message": {"content": "hi"}}]})

    with closing(Engine(held)) as engine, WebhookReceiver() as receiver, Gates() as gates:
        deployment = make_deployment(environment="production")
        make_replica(deployment=deployment, port=engine.port)
        secret_set(team=deployment.model.team, name="webhook_signing_secret", value="whsec_x")
        key = make_api_key(team=deployment.model.team)
        with transaction.atomic():
            routes_version_bump()
        request_id = _accepted(http_client, gateway, deployment.model_id, key, receiver.url())

        with CeleryWorker("async", gates=gates) as first:
            wait_for(lambda: len(calls) == 1, what=lambda: f"the question: {first.log.read_text()}")
            first.kill()
        # Its lease has run out, and what waits longer than a message takes is sent again.
        past = clock.now() - timedelta(minutes=1)
        AsyncRequest.objects.update(lease_expires_at=past, created_at=past)
        leases_sweep(ASYNC_REQUEST)
        with CeleryWorker("async", gates=gates) as second:
            wait_for(lambda: len(calls) == 2, what=lambda: f"the second: {second.log.read_text()}")
            goes_on.set()
            wait_for(lambda: receiver.posted, what=lambda: f"it told: {second.log.read_text()}")
            wait_for(lambda: _status(request_id)[1] == "SUCCEEDED", what="what is told of it")

        (posted,) = receiver.posted
        assert posted.headers["x-baseten-request-id"] == request_id
        assert posted.headers["x-baseten-signature"].startswith("v1=")
        assert json.loads(posted.body)["data"]["choices"][0]["message"]["content"] == "hi"
        assert _status(request_id) == ("SUCCEEDED", "SUCCEEDED")
        place = f"{gateway.url}/m/{deployment.model_id}/async_request/{request_id}"
        bearer = {"authorization": f"Bearer {key}"}
        content = http_client.get(place, headers=bearer).json()
        assert (content["status"], content["deployment_id"]) == ("SUCCEEDED", deployment.id)
        assert http_client.get(f"{place}/output", headers=bearer).json()["choices"]
        canceled = http_client.delete(place, headers=bearer).json()
        assert canceled["canceled"] is False


def _accepted(
    http: httpx.Client, gateway: GatewayProcess, model_id: str, key: str, webhook: str
) -> str:
    """Return the id of the request, once the gateway knows the key."""
    path = f"{gateway.url}/m/{model_id}/production/async_predict"
    body = {"model_input": {"messages": []}, "webhook_endpoint": webhook}
    answers: list[httpx.Response] = []

    def accepted() -> bool:
        headers = {"authorization": f"Bearer {key}"}
        answers.append(http.post(path, json=body, headers=headers))
        return answers[-1].status_code == 201

    wait_for(accepted, what=lambda: f"acceptance: {answers[-1].text}")
    return str(answers[-1].json()["request_id"])


def _status(request_id: str) -> tuple[str, str]:
    answer = AsyncRequest.objects.get(id=request_id)
    return answer.status, answer.webhook_status


@pytest.fixture
def http_client() -> Iterator[httpx.Client]:
    with httpx.Client(timeout=DEADLINE_SECONDS) as client:
        yield client
