"""What the web process's answer on a changed deployment costs, beside that of another tree.

Two web processes, of this tree and of the one that is named, on one database, and a gateway's own
parts at each. Each change is asked for at both in turns, who is first in turns as well: a busy
machine meets both alike. Counted is the processor time of the web processes and PostgreSQL.
"""

import os
import sys
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import cpu_time, report
from benchmarks.control_loop import _set_up
from benchmarks.web_process import data_folder, servers, web

DEPLOYMENTS = 100
CHANGES = 300
FULL_CHANGES = 2000
WARM_UP = 50
"""A connection prepares what it has executed five times, and each process has several."""


def main() -> int:
    """Return the exit status."""
    parser = report.parser(__doc__, full=f"{FULL_CHANGES} changes, not {CHANGES}")
    parser.add_argument("--beside", type=Path, required=True, help="the root of another tree")
    options = parser.parse_args()
    figures = report.Report(as_json=options.json)
    with data_folder("answer") as folder, servers(folder, LOG_LEVEL="WARNING"):
        _set_up(DEPLOYMENTS)
        with web() as ours, web(options.beside.resolve()) as theirs:
            urls = {"this": ours, "beside": theirs}
            changes = FULL_CHANGES if options.full else CHANGES
            return figures.end(_measure(folder, urls, changes), {})


def _measure(folder: Path, urls: dict[str, str], changes: int) -> dict[str, Any]:
    from apps.fleet.services.enrollment import enrollment_token_create
    from benchmarks.control_loop_parts.gateway import FollowingGateway

    gateways = {
        name: FollowingGateway(url, folder / name, enrollment_token_create(), name=name)
        for name, url in urls.items()
    }
    for gateway in gateways.values():
        gateway.follow()
    spent: dict[str, list[float]] = {name: [] for name in gateways}
    for turn in range(WARM_UP + changes):
        _rename(turn)
        for name in sorted(gateways, reverse=bool(turn % 2)):
            before = cpu_time.of_descendants(os.getpid())
            gateways[name].follow()
            spent[name].append((cpu_time.of_descendants(os.getpid()) - before) * 1000)
    for gateway in gateways.values():
        gateway.close()
    return _figures({name: each[WARM_UP:] for name, each in spent.items()})


def _rename(turn: int) -> None:
    from django.db import transaction

    from apps.accounts.routes_version import routes_version_bump
    from apps.deployments.models import Deployment

    row = Deployment.objects.order_by("id")[turn % DEPLOYMENTS]
    with transaction.atomic():
        Deployment.objects.filter(id=row.id).update(name=f"renamed-{turn}")
        routes_version_bump(deployments=[row.id], models=[row.model_id])


def _figures(spent: dict[str, list[float]]) -> dict[str, Any]:
    pairs = zip(spent["this"], spent["beside"], strict=True)
    return {
        "deployments": DEPLOYMENTS,
        "changes": len(spent["this"]),
        **{f"answer_{name}_cpu_milliseconds": round(median(spent[name]), 3) for name in spent},
        "answer_cpu_ratio_to_beside": round(median(ours / theirs for ours, theirs in pairs), 3),
    }


if __name__ == "__main__":
    sys.exit(main())
