"""A key is revoked at the real control plane, and every gateway hears of it without asking."""

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import httpx
import pytest
import redis
from django.db import transaction

from apps.accounts.keys.services import api_key_revoke
from apps.accounts.models import ApiKey
from apps.accounts.routes_version import CHANNEL, routes_version_bump
from apps.fleet.services.enrollment import enrollment_token_create
from tests.factories import make_api_key, make_deployment, make_replica
from tests.waiting import DEADLINE_SECONDS, wait_for
from tests.workers.gateway.stage.engine import Engine
from tests.workers.gateway.stage.gateway_process import GatewayProcess
from tests.workers.gateway.stage.scripts import answers

pytestmark = [pytest.mark.process, pytest.mark.django_db(transaction=True)]
POLL_SECONDS = 3600


@pytest.fixture
def gateways(live_server: Any, broker: str, tmp_path: Path) -> Iterator[list[GatewayProcess]]:
    """Two that poll later than a test ends, so that they have from nudges what they know."""
    httpx.get(
        f"{live_server.url}/internal/v1/routes", timeout=DEADLINE_SECONDS
    )  # the first one imports it all
    with ExitStack() as ends:
        started = [
            ends.enter_context(
                closing(
                    GatewayProcess(
                        live_server.url,
                        tmp_path / name,
                        f"--poll-seconds={POLL_SECONDS}",
                        broker=broker,
                        token=enrollment_token_create(),
                    )
                )
            )
            for name in ("gateway-1", "gateway-2")
        ]
        with redis.Redis.from_url(broker) as valkey:
            wait_for(
                lambda: valkey.pubsub_numsub(CHANNEL)[0][1] == len(started),
                what="every gateway to listen for nudges",
            )
        yield started
        for gateway in started:
            gateway.stop()  # a killed one could leave usage being counted while tables are emptied


def test_every_gateway_refuses_a_revoked_key_at_the_nudge(
    gateways: list[GatewayProcess], http: httpx.Client
) -> None:
    with closing(Engine(answers)) as engine:
        deployment = make_deployment(environment="production")
        make_replica(deployment=deployment, port=engine.port)
        paths = [
            f"{gateway.url}/m/{deployment.model_id}/production/predict" for gateway in gateways
        ]
        text = make_api_key(team=deployment.model.team)
        bearer = {"authorization": f"Bearer {text}"}

        def statuses() -> list[int]:
            return [http.post(path, json={}, headers=bearer).status_code for path in paths]

        with transaction.atomic():
            routes_version_bump()
        wait_for(lambda: statuses() == [200, 200], what=lambda: f"the key: {statuses()}")
        api_key_revoke(api_key=ApiKey.objects.get(prefix=text.split(".")[0]))
        wait_for(lambda: statuses() == [401, 401], what=lambda: f"its refusal: {statuses()}")
