"""How fast every list answers with 1,000 configs, 5,000 builds and 200 deployments in a team.

Starts an embedded PostgreSQL and the real web process on a folder of its own, fills them, and asks
for each page and each REST list, one request after another on one kept connection, as an admin of
the organisation. The bar is on server time: what the web process and PostgreSQL compute for one
request, which does not grow with what else the machine does. Exit 1 when a list takes longer.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

_ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(_ROOT))

from benchmarks import cpu_time, report  # noqa: E402  (found above)
from benchmarks.web_process import data_folder, servers, times_of, web  # noqa: E402

if TYPE_CHECKING:
    from benchmarks.many_rows import Filled

BARS = {"list_server_milliseconds": report.at_most(50)}
REST = (
    "configs",
    "builds",
    "artifacts",
    "models",
    "nodes",
    "calibration_sets",
    "lookahead_tunings",
    "alerts",
    "alert_channels",
    "benchmarks",
    "secrets",
    "api_keys",
    "teams",
    "users",
    "audit",
    "pools",
    "prices",
    "remote_code_grants",
    "settings",
    "usage",
    "instance_types",
)


def main() -> int:
    """Return the exit status: 0 where every list meets its bar."""
    parser = report.parser(__doc__, full="200 requests a list, not 15")
    parser.add_argument("--only", default="", help="names of lists, separated by commas")
    options = parser.parse_args()
    figures = report.Report(as_json=options.json)
    with data_folder("pages") as folder:
        only = [each for each in options.only.split(",") if each]
        lists = measure(folder, requests=200 if options.full else 15, only=only)
    slowest = {
        f"list_{name}": max(each[name] for each in lists.values())
        for name in ("server_milliseconds", "p50_milliseconds")
    }
    return figures.end({**slowest, "lists": lists}, BARS)


def measure(
    folder: Path, *, requests: int, only: Sequence[str] = ()
) -> dict[str, dict[str, float]]:
    """Return the times and the number of queries of every list, or of some."""
    with servers(folder, API_REQUESTS_PER_MINUTE="1000000"):
        paths, cookie, queries = filled_installation(only)
        with (
            web() as address,
            httpx.Client(base_url=address, cookies={"sessionid": cookie}, timeout=60) as client,
        ):
            return {
                name: {**_times(client, path, requests), "queries": queries[name]}
                for name, path in paths.items()
            }


def filled_installation(
    only: Sequence[str] = (),
    **amounts: int,
) -> tuple[dict[str, str], str, dict[str, int]]:
    """Return the lists, the cookie of an admin's session, and each list's number of queries.

    `amounts` are those of `many_rows.Amounts`.
    """
    import django

    django.setup()
    from django.core.management import call_command
    from django.db import connection
    from django.test import Client

    from apps.accounts.services.bootstrap import admin_ensure
    from benchmarks.many_rows import Amounts, fill

    call_command("migrate", verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)
    admin = admin_ensure()
    filled = fill(admin.team, admin, Amounts(**amounts))
    with connection.cursor() as cursor:
        # A served database has statistics; this one was filled a moment ago.
        cursor.execute("ANALYZE")
    client = Client(SERVER_NAME="localhost")
    client.force_login(admin)
    paths = pages_of(filled)
    paths = {name: paths[name] for name in only} or paths
    return paths, client.cookies["sessionid"].value, _queries(client, paths)


def pages_of(filled: "Filled") -> dict[str, str]:
    """Return every page that lists rows, and every list of REST."""
    deployment, build, team = filled.deployment, filled.build, filled.team
    model = f"/v1/models/{deployment.model_id}"
    return {
        "overview": "/",
        "configs": "/configs/",
        "configs_page_20": "/configs/?page=20",
        "revisions": f"/configs/{filled.config.id}/revisions/",
        "builds": "/builds/",
        "builds_page_100": "/builds/?page=100",
        "artifacts": "/artifacts/",
        "pushes": f"/artifacts/{deployment.artifact_id}/pushes/",
        "models": "/models/",
        "model": f"/models/{deployment.model_id}/",
        "deployment": f"/models/{deployment.model_id}/{deployment.id}/",
        "async_requests": f"/models/{deployment.model_id}/{deployment.id}/async/",
        "nodes": "/nodes/",
        "node": f"/nodes/{filled.node.id}/",
        "calibration_sets": "/calibration-sets/",
        "lookahead": "/lookahead-tunings/",
        "traffic_samples": "/traffic-samples/",
        "secrets": "/secrets/",
        "alerts": "/alerts/",
        "alert_channels": "/alerts/channels/",
        "alert_channel": f"/alerts/channels/{filled.channel.id}/",
        "benchmarks": "/benchmarks/",
        "benchmark": f"/benchmarks/{filled.benchmark.id}/",
        "keys": "/keys/",
        "people": "/people/",
        "teams": "/teams/",
        "audit": "/audit/",
        "remote_code": "/remote-code/",
        "try": "/models/try/",
        "usage": "/usage/",
        "rules": "/rules/",
        "settings": "/settings/",
        "build_log": f"/builds/{build.number}/log/",
        **{f"rest_{name}": f"/v1/{name}" for name in REST},
        "rest_revisions": f"/v1/configs/{filled.config.id}/revisions",
        "rest_pushes": f"/v1/artifacts/{deployment.artifact_id}/pushes",
        "rest_alert_deliveries": f"/v1/alert_channels/{filled.channel.id}/deliveries",
        "rest_steps": f"/v1/builds/{build.id}/steps",
        "rest_deployments": f"{model}/deployments",
        "rest_environments": f"{model}/environments",
        "rest_promotion_events": f"{model}/environments/production/promotion_events",
        **{
            f"rest_{name}": f"{model}/deployments/{deployment.id}/{name}"
            for name in ("replicas", "failed_starts", "scaling_decisions", "async_requests")
        },
        "rest_replicas_of_node": f"/v1/nodes/{filled.node.id}/replicas",
        "rest_tests_of_secret": "/v1/secrets/secret_0/tests",
        **{
            f"rest_{name}_of_team": f"/v1/teams/{team.id}/{name}"
            for name in ("invitations", "members", "models", "restricted_environments", "secrets")
        },
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
    return {
        "server_milliseconds": times.cpu_ms,
        "p50_milliseconds": times.p50_ms,
        "p95_milliseconds": times.p95_ms,
    }


def _server_seconds() -> float:
    """Return the processor time of the web process and of PostgreSQL until now."""
    return cpu_time.of_descendants(os.getpid())


if __name__ == "__main__":
    sys.exit(main())
