"""A key is revoked at the real control plane, and a clock runs until every gateway refuses it."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import httpx
import pytest
import redis
from django.db import transaction

from apps.accounts.models import ApiKey
from apps.accounts.routes_version import CHANNEL, routes_version_bump
from apps.accounts.services import api_key_revoke
from apps.fleet.services import enrollment_token_create
from tests.factories import make_api_key, make_deployment, make_replica
from tests.timing import quickest
from tests.workers.gateway.stage.engine import Engine
from tests.workers.gateway.stage.gateway import GatewayProcess
from tests.workers.gateway.stage.scripts import answers
from tests.workers.gateway.stage.waiting import until

pytestmark = pytest.mark.django_db(transaction=True)
POLL_SECONDS = 60


@pytest.fixture
def gateways(live_server: Any, broker: str, tmp_path: Path) -> Iterator[list[GatewayProcess]]:
    """Two that poll too seldom to have it from there, once both hear nudges."""
    httpx.get(f"{live_server.url}/internal/v1/routes", timeout=60)  # the first one imports it all
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
            until(lambda: valkey.pubsub_numsub(CHANNEL)[0][1] == len(started))
        yield started
        for gateway in started:
            gateway.stop()  # a killed one could leave usage being counted while tables are emptied


def test_every_gateway_refuses_a_revoked_key_within_a_second(
    gateways: list[GatewayProcess], http: httpx.Client
) -> None:
    with closing(Engine(answers)) as engine:
        deployment = make_deployment(environment="production")
        make_replica(deployment=deployment, port=engine.port)
        paths = [
            f"{gateway.url}/m/{deployment.model_id}/production/predict" for gateway in gateways
        ]

        def seconds_until_refused() -> float:
            text = make_api_key(team=deployment.model.team)
            bearer = {"authorization": f"Bearer {text}"}

            def statuses() -> list[int]:
                return [http.post(path, json={}, headers=bearer).status_code for path in paths]

            with transaction.atomic():
                routes_version_bump()
            until(lambda: statuses() == [200, 200], seconds=POLL_SECONDS + 30)
            revoked_at = time.monotonic()
            api_key_revoke(api_key=ApiKey.objects.get(prefix=text.split(".")[0]))
            until(lambda: statuses() == [401, 401], seconds=POLL_SECONDS + 30)
            return time.monotonic() - revoked_at

        assert quickest(seconds_until_refused, enough=1) < 1
