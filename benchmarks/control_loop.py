"""What the control loop costs: with nothing to do, with one change, and with what is shown of it.

Against an embedded PostgreSQL and the real web process, in a fleet of as many deployments, replicas
and keys as are named. A change is counted from the call that makes it until a gateway's own parts,
in this process, have asked for it, applied it and have it on disk: the processor time of this
process, the web process and PostgreSQL together, also as a multiple of what a bare Django view
takes for one update and one select, in turns with it, and of a fixed loop. Which processes there
are is listed before: listing takes 5 ms, and the caches. What came in the middle is told apart.
That it is applied is said with the next poll, which comes in any case, and is measured beside it.
Nothing else runs in them. A process lives for weeks: the first changes, in which PostgreSQL reads
its own catalogue and statements are not prepared yet, are told apart. Exit 1 when a bar is missed.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import cpu_time, report
from benchmarks.machine_speed import loop_seconds
from benchmarks.web_process import data_folder, servers, web

if TYPE_CHECKING:
    from benchmarks.control_loop_parts.fleet import Fleet
    from benchmarks.control_loop_parts.gateway import FollowingGateway

SIZES = (100, 1000, 10_000)
DEFAULT_SIZE = 1000
_Bare = Callable[[], None]
_LISTED = cpu_time.Listed(os.getpid())
CHANGES = 20
_FIRST_CHANGES = 10
"""A connection prepares what it has executed five times; some statements share a change."""
BARS = {
    "idle_round_cpu_ms_a_replica": report.at_most(0.1),
    "change_ready_cpu_ms": report.at_most(10),
    "change_promoted_cpu_ms": report.at_most(10),
    "change_revoked_cpu_ms": report.at_most(10),
    "snapshot_change_bytes": report.at_most(4096),
    "metrics_cpu_ms_a_deployment": report.at_most(0.2),
}


def main() -> int:
    """Return the exit status: 0 where every bar is met."""
    asked = report.parser(__doc__, full=f"fleets of {SIZES}, not of {DEFAULT_SIZE} alone")
    asked.add_argument("--size", type=int, default=DEFAULT_SIZE, help="deployments and replicas")
    options = asked.parse_args()
    told = report.Report(as_json=options.json)
    if options.full:
        return _every_size(told)
    with data_folder("loop") as folder:
        return told.end(measure(folder, size=options.size), BARS)


def _every_size(told: report.Report) -> int:
    """Return the exit status: the bars hold for every size."""
    by_size = {size: _alone(size) for size in SIZES}
    figures = {f"{name}_of_{size}": by_size[size][name] for size in SIZES for name in by_size[size]}
    bars = {
        f"{name}_of_{size}": bar
        for name, bar in BARS.items()
        for size in SIZES
        # A round and a page have a part of their own, which a hundred do not carry.
        if size >= DEFAULT_SIZE or "_a_" not in name
    }
    return told.end(figures, bars)


def _alone(size: int) -> dict[str, Any]:
    # Django knows one database a process.
    done = subprocess.run(
        [sys.executable, __file__, "--json", f"--size={size}"], capture_output=True, check=False
    )
    if not done.stdout:
        raise SystemExit(done.stderr.decode())
    figures = json.loads(done.stdout)
    return {name: figures[name] for name in figures if name in BARS or name.endswith(_KINDS)}


_KINDS = ("_ms", "_x_bare", "_x_loop", "_bytes", "_a_replica", "_a_deployment")


def measure(folder: Path, *, size: int) -> dict[str, Any]:
    """Return the figures of a fleet of that size."""
    with servers(folder, LOG_LEVEL="WARNING"):
        fleet, token = _set_up(size)
        with web() as url:
            from benchmarks.control_loop_parts.gateway import FollowingGateway

            gateway = FollowingGateway(url, folder / "gateway", token)
            figures = {"deployments": size, "snapshot_whole_bytes": gateway.follow()}
            bare = _bare_view(fleet)
            figures |= _one_after_the_other(
                lambda: _told("bare_view", [_spent(bare) for _ in range(CHANGES)]),
                lambda: _idle_round(size),
                lambda: _poll(gateway),
                lambda: _ready(fleet, gateway, bare),
                lambda: _promoted(fleet, gateway, bare),
                lambda: _revoked(fleet, gateway, bare),
                _routes_check,
                lambda: _observe(fleet),
                lambda: _metrics(fleet, size),
            )
            gateway.close()
    loop_ms = loop_seconds() * 1000
    return figures | {
        f"{name}_x_loop": round(figures[f"{name}_cpu_ms"] / loop_ms, 3)
        for name in ("bare_view", "change_ready", "change_promoted", "change_revoked")
    }


def _one_after_the_other(*parts: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return the figures of all, and what those computed that came in the middle of a part."""
    figures: dict[str, Any] = {}
    came_seconds = 0.0
    _LISTED.list_again()
    for part in parts:
        figures |= part()
        came_seconds += _LISTED.list_again()
    return {**figures, "came_meanwhile_cpu_milliseconds": round(came_seconds * 1000, 1)}


def _set_up(size: int) -> tuple["Fleet", str]:
    import django

    django.setup()
    from django.core.management import call_command

    from apps.fleet.services.enrollment import enrollment_token_create
    from benchmarks.control_loop_parts.fleet import fill

    call_command("migrate", verbosity=0)
    return fill(size), enrollment_token_create()


def _bare_view(fleet: "Fleet") -> Callable[[], None]:
    """Return what asks a Django view that does one update and one select, and nothing else."""
    from django.http import HttpRequest, HttpResponse
    from django.test import RequestFactory

    from apps.deployments.models import Replica

    mine = fleet.replicas[0]

    def view(_request: HttpRequest) -> HttpResponse:
        Replica.objects.filter(id=mine.id).update(port=mine.port)
        return HttpResponse(Replica.objects.values_list("port").get(id=mine.id))

    def ask() -> None:
        view(RequestFactory().get("/"))

    ask()
    return ask


def _idle_round(size: int) -> dict[str, float]:
    from apps.deployments.services.sweeping import deployments_sweep

    deployments_sweep()
    deployments_sweep()
    spent = [_spent(deployments_sweep) for _ in range(3)]
    cpu = median(each["cpu_ms"] for each in spent)
    return {
        "idle_round_cpu_ms": round(cpu, 1),
        "idle_round_wall_ms": round(median(each["wall_ms"] for each in spent), 1),
        "idle_round_cpu_ms_a_replica": round(cpu / size, 4),
    }


def _poll(gateway: "FollowingGateway") -> dict[str, float]:
    """A gateway asks, says what it applied, and nothing has changed."""
    gateway.follow()
    return _told("poll", [_spent(gateway.follow) for _ in range(CHANGES)])


def _ready(fleet: "Fleet", gateway: "FollowingGateway", bare: _Bare) -> dict[str, float]:
    """A node says that a replica which was loading is ready, and what else it runs."""
    from apps.deployments.models import Replica
    from apps.deployments.services.observing import replicas_observe

    last = fleet.replicas[-CHANGES:]
    sent: list[int] = []

    def change(replica: Any, said: list[Any]) -> None:
        replicas_observe(node=replica.node, reports=said)
        sent.append(gateway.follow())

    Replica.objects.filter(id__in=[each.id for each in last]).update(state="ready")
    figures = []
    for replica in last:
        _rest_of_node(last, replica)
        Replica.objects.filter(id=replica.id).update(state="loading")
        _settle(replica.deployment_id)
        gateway.follow()
        replica.node.refresh_from_db()  # as each report reads its node anew
        said = [_said(each) for each in last if each.node_id == replica.node_id]
        figures.append(_in_turns(partial(change, replica, said), bare))
    return {
        **_told_change("ready", figures),
        "snapshot_change_bytes": int(median(sent)),
    }


def _rest_of_node(last: list[Any], replica: Any) -> None:
    """Have the node run these replicas alone, so that a report of them is a whole one."""
    from apps.deployments.models import Replica

    mine = [each.id for each in last]
    others = Replica.objects.filter(node=replica.node).exclude(id__in=mine)
    if others.exists():
        others.update(node=_other_node())


def _other_node() -> Any:
    from apps.fleet.models import Node
    from controlplane import clock

    made, _ = Node.objects.get_or_create(
        name="others",
        defaults={
            "address": "10.0.0.1",
            "credential_sha256": "f" * 64,
            "last_heartbeat_at": clock.now().replace(year=clock.now().year + 1),
        },
    )
    return made


def _settle(deployment_id: str) -> None:
    from apps.deployments.services.reconcile import deployment_settle

    deployment_settle(deployment_id=deployment_id)


def _promoted(fleet: "Fleet", gateway: "FollowingGateway", bare: _Bare) -> dict[str, float]:
    """An environment is pointed at another ready deployment of its model."""
    from apps.deployments.environments.promoting import environment_promote
    from apps.deployments.models import Deployment, Environment
    from apps.deployments.services.sweeping import deployments_sweep

    places = list(Environment.objects.order_by("id")[:CHANGES])
    figures = []
    for place in places:
        others = Deployment.objects.filter(model_id=place.model_id).exclude(id=place.current_id)
        other = others.order_by("id").first()

        def change(place: Any = place, other: Any = other) -> None:
            environment_promote(environment=place, deployment=other, scale_down_previous=False)
            gateway.follow()

        figures.append(_in_turns(change, bare))
        deployments_sweep()
        gateway.follow()
    return _told_change("promoted", figures)


def _revoked(fleet: "Fleet", gateway: "FollowingGateway", bare: _Bare) -> dict[str, float]:
    from apps.accounts.keys.services import api_key_revoke

    def change(number: int) -> None:
        api_key_revoke(api_key=fleet.keys[number])
        gateway.follow()

    spent = [_in_turns(lambda number=number: change(number), bare) for number in range(CHANGES)]
    return _told_change("revoked", spent)


def _routes_check() -> dict[str, float]:
    """The web process looks whether a change of routes was left unnamed: all of it, in slices."""
    from apps.routes.book import RoutesBook
    from apps.routes.checking import SLICES

    book = RoutesBook()
    book.answer(after=0, digest=None)
    spent = [_spent(book.check_slice)["cpu_ms"] for _ in range(SLICES)]
    return {
        "routes_check_slice_cpu_ms": round(median(spent), 2),
        "routes_check_slice_max_cpu_ms": round(max(spent), 2),
    }


def _observe(fleet: "Fleet") -> dict[str, float]:
    """A node reports a thousand replicas, or as many as there are: unchanged, and measured anew."""
    from apps.deployments.models import Replica
    from apps.deployments.services.observing import replicas_observe
    from benchmarks.control_loop_parts.fleet import REPORTED

    mine = list(Replica.objects.filter(state="ready").order_by("id")[:REPORTED])
    Replica.objects.filter(node=fleet.node).update(node=_other_node())
    Replica.objects.filter(id__in=[each.id for each in mine]).update(node=fleet.node)
    said = [_said(each) for each in mine]
    replicas_observe(node=fleet.node, reports=said)
    figures: dict[str, float] = {"observed_replicas": len(mine)}
    for name, running in (("unchanged", None), ("changed", 5.0)):
        spent = []
        for turn in range(3):
            metrics = None if running is None else {"requests_running": running + turn}
            now = [replace(each, metrics=metrics) for each in said]
            spent.append(_spent(lambda now=now: replicas_observe(node=fleet.node, reports=now)))
        figures |= _told(f"observe_{name}", spent)
    return figures


def _said(replica: Any) -> Any:
    from apps.deployments.services.observing import ReplicaReport
    from controlplane.domain.lifecycle import ReplicaState

    return ReplicaReport(
        id=replica.id,
        generation=replica.generation,
        state=ReplicaState.READY,
        host=replica.node.address,
        port=replica.port,
        pid=replica.pid,
        report=replica.report,
        metrics=replica.metrics,
    )


def _metrics(fleet: "Fleet", size: int) -> dict[str, float]:
    from apps.deployments.metrics.page import metrics_page

    metrics_page(team=fleet.team)
    spent = [_spent(lambda: metrics_page(team=fleet.team)) for _ in range(3)]
    told = _told("metrics", spent)
    return {**told, "metrics_cpu_ms_a_deployment": round(told["metrics_cpu_ms"] / size, 4)}


def _told_change(name: str, figures: list[Mapping[str, float]]) -> dict[str, float]:
    first = median(each["cpu_ms"] for each in figures[:_FIRST_CHANGES])
    return {
        **_told(f"change_{name}", figures[_FIRST_CHANGES:]),
        f"change_{name}_first_{_FIRST_CHANGES}_cpu_milliseconds": round(first, 2),
    }


def _told(name: str, figures: list[Mapping[str, float]]) -> dict[str, float]:
    middle = {kind: median(each[kind] for each in figures) for kind in figures[0]}
    told = {f"{name}_{kind}": round(middle[kind], 2) for kind in ("cpu_ms", "wall_ms")}
    if "bare_cpu_ms" in middle:
        told[f"{name}_x_bare"] = round(middle["cpu_ms"] / middle["bare_cpu_ms"], 1)
    return told


def _in_turns(act: Callable[[], object], bare: _Bare) -> dict[str, float]:
    """Return what an act took, and what the bare view did right after it."""
    return {**_spent(act), "bare_cpu_ms": _spent(bare)["cpu_ms"]}


def _spent(act: Callable[[], object]) -> dict[str, float]:
    """Return what an act took of the processor, in every process, and at the clock."""
    others = _LISTED.seconds()
    own, started = time.process_time(), time.perf_counter()
    act()
    wall, own = time.perf_counter() - started, time.process_time() - own
    others = _LISTED.seconds() - others
    return {"cpu_ms": (own + others) * 1000, "wall_ms": wall * 1000}


if __name__ == "__main__":
    sys.exit(main())
