"""How long a revoked key and a changed route take to reach a gateway, from the real control plane.

PostgreSQL, Valkey, the web process and the gateway are those of an installation; the gateway hears
of a change by Valkey and asks the web process for the routes.
"""

import os
import statistics
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from benchmarks.gateway_parts.processes import child
from benchmarks.web_process import broker, data_folder, database, web
from workers.runtimes.ports import free_port

_HOST = "127.0.0.1"
_PATIENCE_SECONDS = 60.0


def applied_after(engine_port: int, times: int) -> dict[str, float]:
    """Return the milliseconds, from before the change is made until a request is met by it."""
    with ExitStack() as open_until_end:
        folder = open_until_end.enter_context(data_folder("changes"))
        broker_url = open_until_end.enter_context(broker(folder))
        os.environ.update(
            DJANGO_SETTINGS_MODULE="controlplane.settings",
            DATA_DIR=str(folder),
            DATABASE_URL=open_until_end.enter_context(database(folder)),
            BROKER_URL=broker_url,
        )
        token = _set_up()
        url = open_until_end.enter_context(web())
        port = free_port(_HOST)
        environment = _environment(url, folder, broker_url, token)
        open_until_end.enter_context(
            child("-m", "workers.gateway", f"--port={port}", port=port, environment=environment)
        )
        client = open_until_end.enter_context(
            httpx.Client(base_url=f"http://{_HOST}:{port}", timeout=30)
        )
        return _measured(client, engine_port, times)


def _set_up() -> str:
    """Return the token by which a gateway joins."""
    import django

    django.setup()
    from django.core.management import call_command

    from apps.fleet.services.enrollment import enrollment_token_create

    call_command("migrate", verbosity=0)
    token: str = enrollment_token_create()
    return token


def _environment(url: str, folder: Path, broker_url: str, token: str) -> dict[str, str]:
    return {
        "CONTROL_PLANE_URL": url,
        "DATA_DIR": str(folder / "gateway"),
        "ENROLLMENT_TOKEN": token,
        "LOG_LEVEL": "WARNING",
        "BROKER_URL": broker_url,
        "LISTEN_FDS": "",
    }


def _measured(client: httpx.Client, engine_port: int, times: int) -> dict[str, float]:
    # What they need of Django is there only now.
    from django.db import transaction

    from apps.accounts.keys.services import api_key_revoke
    from apps.accounts.models import ApiKey
    from apps.accounts.routes_version import routes_version_bump
    from tests.factories import make_api_key, make_team

    def tell() -> None:
        with transaction.atomic():
            routes_version_bump()

    team = make_team()
    routed, refused = [], []
    for _ in range(times):
        key, path = make_api_key(team=team), _served_at(engine_port, team)
        routed.append(_milliseconds(tell, partial(_answers, client, path, key, 200)))
        revoke = partial(api_key_revoke, api_key=ApiKey.objects.get(prefix=key.split(".")[0]))
        refused.append(_milliseconds(revoke, partial(_answers, client, path, key, 401)))
    return {
        "changed_route_applied_milliseconds_p50": statistics.median(routed),
        "changed_route_applied_milliseconds_max": max(routed),
        "revoked_key_refused_milliseconds_p50": statistics.median(refused),
        "revoked_key_refused_milliseconds_max": max(refused),
    }


def _served_at(engine_port: int, team: Any) -> str:
    """Return the path of a new model, of which no gateway has been told."""
    from tests.factories import make_deployment, make_replica

    deployment = make_deployment(team=team, environment="production")
    make_replica(deployment=deployment, port=engine_port)
    return f"/m/{deployment.model_id}/production/predict"


def _answers(client: httpx.Client, path: str, key: str, status: int) -> bool:
    answer = client.post(path, json={}, headers={"authorization": f"Bearer {key}"})
    return answer.status_code == status


def _milliseconds(change: Callable[[], object], condition: Callable[[], bool]) -> float:
    started = time.monotonic()
    change()
    while not condition():
        if time.monotonic() > started + _PATIENCE_SECONDS:
            raise SystemExit(f"The gateway did not get to know it in {_PATIENCE_SECONDS:.0f} s.")
    return (time.monotonic() - started) * 1000
