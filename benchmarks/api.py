"""How fast the management API lists: 1,000 rows, a page of 50, over HTTP with an API key.

Starts an embedded PostgreSQL and Valkey and the real web process on a folder of its own, and beside
it the same process with bare Django views: the same look-up of the key, the same counting of
requests, the same query, and a `JsonResponse` of the same rows. Asks both in turns, one request
after another, each on a kept connection. The bars compare the CPU time of a request, PostgreSQL's
included, and the worst list counts; the times at the clock stand beside. Exit 1 when one is missed.
"""

import sys
from functools import partial
from pathlib import Path
from typing import Any

import httpx

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import report
from benchmarks.web_process import beside, data_folder, in_turns, servers, web_beside_bare

ROWS = 1000
PAGE = 50
RIVAL = "bare_view"
BARS = {
    "list_p50_cpu_ratio_to_bare_view": report.at_most(2),
    "list_p95_cpu_ratio_to_bare_view": report.at_most(2.5),
}
PATHS = {
    "configs": f"/v1/configs?limit={PAGE}",
    "builds": f"/v1/builds?limit={PAGE}",
    "secrets": "/v1/secrets",
}


def main() -> int:
    """Return the exit status: 0 where every bar is met."""
    options = report.parser(__doc__, full="2,000 requests a list, not 120").parse_args()
    summary = report.Report(as_json=options.json)
    with data_folder("api") as folder:
        figures = measure(folder, requests=2000 if options.full else 120)
    return summary.end(figures, BARS)


def measure(folder: Path, *, requests: int) -> dict[str, Any]:
    """Return the figures: the worst list counts for the bars."""
    # Counted like any other, and none refused.
    with servers(folder, API_REQUESTS_PER_MINUTE="1000000"):
        headers = {"Authorization": f"Bearer {_fill()}"}
        with web_beside_bare(headers) as (ours, bare):
            paths = PATHS | {"configs_page_10": _deep_path(ours)}
            lists = {name: _beside_bare(ours, bare, path, requests) for name, path in paths.items()}
    ratios = [name for name in lists["builds"] if name.startswith("list_")]
    return {
        "rows": ROWS,
        "page_rows": PAGE,
        "requests_a_list": requests,
        **{name: max(each[name] for each in lists.values()) for name in ratios},
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
    from apps.accounts.services.bootstrap import admin_ensure
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


def _beside_bare(
    ours: httpx.Client, bare: httpx.Client, path: str, requests: int
) -> dict[str, float]:
    if ours.get(path).json() != bare.get(path).json():
        raise SystemExit(f"{path}: the bare view answers something else.")
    body = {"ours": partial(ours.get, path), RIVAL: partial(bare.get, path)}
    spent = in_turns(body, rounds=requests, warm_up=30)
    figures = {
        f"{side}_{name}": value
        for side, each in spent.items()
        for name, value in each.figures().items()
    }
    return {**beside(spent, RIVAL, name="list"), **figures}


if __name__ == "__main__":
    sys.exit(main())
