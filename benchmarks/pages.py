"""How fast every list answers with 1,000 configs, 5,000 builds and 200 deployments in a team.

Starts an embedded PostgreSQL and the real web process on a folder of its own, fills them, and asks
for each page and each REST list, one request after another on one kept connection, as an admin of
the organisation. The bar is on server time: what the web process and PostgreSQL compute for one
request, which does not grow with what else the machine does. Exit 1 when a list takes longer.
"""

import argparse
import json
import os
import platform
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import psutil

_ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(_ROOT))

from benchmarks.web_process import broker, database, times_of, web  # noqa: E402  (found above)

if TYPE_CHECKING:
    from benchmarks.many_rows import Filled

BAR_MS = 50.0
REST = (
    "configs",
    "builds",
    "artifacts",
    "models",
    "nodes",
    "calibration_sets",
    "secrets",
    "api_keys",
    "teams",
    "users",
    "audit",
)


def main() -> int:
    """Return the exit status: 0 where every list meets its bar."""
    options = _options()
    with tempfile.TemporaryDirectory(prefix="eh-pages-") as folder:
        Path(folder).chmod(0o755)
        lists = measure(Path(folder), requests=200 if options.full else 15)
    figures = {
        "list_server_ms": max(each["server_ms"] for each in lists.values()),
        "list_p50_ms": max(each["p50_ms"] for each in lists.values()),
        "bar_server_ms": BAR_MS,
        "bars_met": all(each["server_ms"] <= BAR_MS for each in lists.values()),
        "lists": lists,
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}",
        "load_1_min": round(os.getloadavg()[0], 2),
        "command": "python benchmarks/pages.py --json",
    }
    print(json.dumps(figures, indent=1) if options.json else _table(figures))
    return 0 if figures["bars_met"] else 1


def measure(folder: Path, *, requests: int) -> dict[str, dict[str, float]]:
    """Return the times and the number of queries of every list."""
    with database(folder) as url, broker(folder) as broker_url:
        os.environ.update(
            DJANGO_SETTINGS_MODULE="controlplane.settings",
            DATA_DIR=str(folder),
            DATABASE_URL=url,
            BROKER_URL=broker_url,
            API_REQUESTS_PER_MINUTE="1000000",
        )
        paths, cookie, queries = _fill()
        with (
            web() as address,
            httpx.Client(base_url=address, cookies={"sessionid": cookie}, timeout=60) as client,
        ):
            return {
                name: {**_times(client, path, requests), "queries": queries[name]}
                for name, path in paths.items()
            }


def _fill() -> tuple[dict[str, str], str, dict[str, int]]:
    """Return the lists, the cookie of an admin's session, and each list's number of queries."""
    import django

    django.setup()
    from django.core.management import call_command
    from django.db import connection
    from django.test import Client

    from apps.accounts.services import admin_ensure
    from benchmarks.many_rows import Amounts, fill

    call_command("migrate", verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)
    admin = admin_ensure()
    filled = fill(admin.team, admin, Amounts())
    with connection.cursor() as cursor:
        # A served database has statistics; this one was filled a moment ago.
        cursor.execute("ANALYZE")
    client = Client(SERVER_NAME="localhost")
    client.force_login(admin)
    paths = pages_of(filled)
    return paths, client.cookies["sessionid"].value, _queries(client, paths)


def pages_of(filled: "Filled") -> dict[str, str]:
    """Return every page that lists rows, and every list of REST."""
    deployment = filled.deployment
    return {
        "overview": "/",
        "configs": "/configs/",
        "configs_page_20": "/configs/?page=20",
        "revisions": f"/configs/{filled.config.id}/revisions/",
        "builds": "/builds/",
        "builds_page_100": "/builds/?page=100",
        "artifacts": "/artifacts/",
        "models": "/models/",
        "deployment": f"/models/{deployment.model_id}/{deployment.id}/",
        "nodes": "/nodes/",
        "calibration_sets": "/calibration-sets/",
        "secrets": "/secrets/",
        "keys": "/keys/",
        "people": "/people/",
        "teams": "/teams/",
        "audit": "/audit/",
        "usage": "/usage/",
        "rules": "/rules/",
        "settings": "/settings/",
        "build_log": f"/builds/{filled.build.number}/log/",
        **{f"rest_{name}": f"/v1/{name}" for name in REST},
        "rest_revisions": f"/v1/configs/{filled.config.id}/revisions",
        "rest_deployments": f"/v1/models/{deployment.model_id}/deployments",
        "rest_environments": f"/v1/models/{deployment.model_id}/environments",
    }


def _queries(client: Any, paths: dict[str, str]) -> dict[str, int]:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    counts = {}
    for name, path in paths.items():
        client.get(path)  # What is remembered for the process is not counted.
        with CaptureQueriesContext(connection) as queries:
            answer = client.get(path)
        if answer.status_code != 200:
            raise SystemExit(f"{path} answered {answer.status_code}.")
        counts[name] = len(queries)
    return counts


def _times(client: httpx.Client, path: str, requests: int) -> dict[str, float]:
    times = times_of(client, path, requests=requests, warm_up=3, cpu_seconds=_server_seconds)
    return {"server_ms": times.cpu_ms, "p50_ms": times.p50_ms, "p95_ms": times.p95_ms}


def _server_seconds() -> float:
    """Return the processor time of the web process and of PostgreSQL until now."""
    total = 0.0
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            times = child.cpu_times()
            total += times.user + times.system
    return total


def _table(figures: dict[str, Any]) -> str:
    rows = [
        f"{name:<22}{each['server_ms']:>8} server {each['p50_ms']:>8} p50 {each['p95_ms']:>8} p95"
        f" {each['queries']:>4} queries"
        for name, each in figures["lists"].items()
    ]
    met = f"bar {BAR_MS:g} ms of server time, met: {figures['bars_met']}"
    return "\n".join([*rows, met, f"{figures['machine']}, load {figures['load_1_min']}"])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--full", action="store_true", help="200 requests a list, not 15")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
