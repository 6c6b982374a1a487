"""How fast the management API lists: 1,000 rows, a page of 50, over HTTP with an API key.

Starts an embedded PostgreSQL and the real web process on a folder of its own, fills them, and asks
one request after another on one kept connection. Exit 1 when a bar of the design is missed.
"""

import argparse
import json
import os
import platform
import sys
import tempfile
from pathlib import Path
from typing import Any

import httpx
import psutil

_ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(_ROOT))

from benchmarks.web_process import broker, database, times_of, web  # noqa: E402  (found above)

ROWS = 1000
PAGE = 50
BARS = {"list_p50_ms": 12.0, "list_p95_ms": 30.0}
PATHS = {
    "configs": f"/v1/configs?limit={PAGE}",
    "builds": f"/v1/builds?limit={PAGE}",
    "secrets": "/v1/secrets",
}


def main() -> int:
    """Return the exit status: 0 where every bar is met."""
    options = _options()
    with tempfile.TemporaryDirectory(prefix="eh-api-") as folder:
        Path(folder).chmod(0o755)
        figures = measure(Path(folder), requests=2000 if options.full else 300)
    figures["bars_met"] = all(figures[name] <= bar for name, bar in BARS.items())
    figures["machine"] = (
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    )
    figures["command"] = "python benchmarks/api.py --json"
    print(json.dumps(figures, indent=1) if options.json else _table(figures))
    return 0 if figures["bars_met"] else 1


def measure(folder: Path, *, requests: int) -> dict[str, Any]:
    """Return the figures: the worst list counts for the bars."""
    with database(folder) as url, broker(folder) as broker_url:
        os.environ.update(
            DJANGO_SETTINGS_MODULE="controlplane.settings",
            DATA_DIR=str(folder),
            DATABASE_URL=url,
            BROKER_URL=broker_url,
            # Counted like any other, and none refused.
            API_REQUESTS_PER_MINUTE="1000000",
        )
        key = _fill()
        headers = {"Authorization": f"Bearer {key}"}
        with (
            web() as address,
            httpx.Client(base_url=address, headers=headers, timeout=10) as client,
        ):
            paths = PATHS | {"configs_page_10": _deep_path(client)}
            lists = {name: _times(client, path, requests) for name, path in paths.items()}
    return {
        "rows": ROWS,
        "page_rows": PAGE,
        "list_p50_ms": max(times["p50_ms"] for times in lists.values()),
        "list_p95_ms": max(times["p95_ms"] for times in lists.values()),
        "lists": lists,
    }


def _fill() -> str:
    """Return a key of a team with ROWS configs, revisions and builds, and fifty secrets."""
    import django

    django.setup()
    from django.core.management import call_command
    from django.db import connection
    from django.utils import timezone

    from apps.accounts.models import ApiKey, ApiKeyType
    from apps.accounts.services import admin_ensure
    from apps.builds.models import Build
    from apps.configs.models import Config, Revision
    from apps.secrets.models import Secret

    call_command("migrate", verbosity=0)
    team = admin_ensure().team
    configs = Config.objects.bulk_create(
        Config(team=team, name=f"config-{number}") for number in range(ROWS)
    )
    revisions = Revision.objects.bulk_create(
        Revision(config=config, number=number, text="a: 1\n" * 40, spec={}, blocks_build=False)
        for config in configs
        for number in (1, 2, 3)
    )
    Build.objects.bulk_create(
        Build(team=team, revision=revision, number=number, state="succeeded")
        for number, revision in enumerate(revisions[:ROWS], 1)
    )
    Secret.objects.bulk_create(
        Secret(team=team, name=f"secret_{number}", key_id="k", nonce=b"n", ciphertext=b"c")
        for number in range(PAGE)
    )
    from apps.accounts.hashing import new_secret, sha256_hex

    text = f"benchmrk.{new_secret()}"
    ApiKey.objects.create(
        prefix="benchmrk",
        secret_sha256=sha256_hex(text),
        type=ApiKeyType.WORKSPACE_MANAGE_ALL,
        team=team,
        last_used_at=timezone.now(),
    )
    with connection.cursor() as cursor:
        # A served database has statistics; this one was filled a moment ago.
        cursor.execute("ANALYZE")
    return text


def _deep_path(client: httpx.Client) -> str:
    path = PATHS["configs"]
    for _ in range(9):
        cursor = client.get(path).raise_for_status().json()["pagination"]["cursor"]
        path = f"{PATHS['configs']}&cursor={cursor}"
    return path


def _times(client: httpx.Client, path: str, requests: int) -> dict[str, float]:
    times = times_of(client, path, requests=requests, warm_up=30, cpu_seconds=_web_cpu_seconds)
    return {"p50_ms": times.p50_ms, "p95_ms": times.p95_ms, "web_cpu_ms": times.cpu_ms}


def _web_cpu_seconds() -> float:
    times = [
        child.cpu_times()
        for child in psutil.Process().children()
        if "controlplane.processes.web" in child.cmdline()
    ]
    return float(sum(each.user + each.system for each in times))


def _table(figures: dict[str, Any]) -> str:
    rows = [f"{name:<18}{figures[name]:>8} ms   bar {bar:g}" for name, bar in BARS.items()]
    rows += [
        f"  {name:<16}{times['p50_ms']:>8} p50 {times['p95_ms']:>8} p95"
        f" {times['web_cpu_ms']:>8} CPU of the web process"
        for name, times in figures["lists"].items()
    ]
    return "\n".join([*rows, f"bars met: {figures['bars_met']}", figures["machine"]])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--full", action="store_true", help="2,000 requests a list, not 300")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
