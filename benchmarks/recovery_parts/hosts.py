"""Two hosts with a replica each, asked at both gateways, and what cuts the second one off."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import psycopg

from apps.dashboard.demo.question import endpoint
from benchmarks.recovery_parts.serving import LEASES, REPLICAS, stand_in
from benchmarks.recovery_parts.traffic import Traffic
from tests.several_hosts.stage import GATEWAY, Stage, two_hosts
from tests.waiting import wait_for

NOTICED_SECONDS = 3.0
"""By when a gateway elsewhere goes by others than a host that is gone."""
_LOOK_SECONDS = 0.5
_ENGINE = "workers.runtimes.native"
_WORDS_OF_DEPLOYED = ("python", "-m", "benchmarks.recovery_parts.deployed")


@dataclass(frozen=True, kw_only=True)
class Cut:
    """What is done to the second host, and for how long."""

    name: str
    seconds: float
    begin: Callable[[Stage], None]
    end: Callable[[Stage], None] = Stage.heal
    reaches_its_gateway: bool = True
    """Whether clients still reach the second host."""
    ends_engines: bool = False


def cuts(*, short_seconds: float, long_seconds: float) -> tuple[Cut, ...]:
    """Return all of them; the one from the control plane lasts longest."""
    gone = {"reaches_its_gateway": False, "seconds": short_seconds}
    return (
        Cut(
            name="from the control plane", seconds=long_seconds, begin=Stage.cut_from_control_plane
        ),
        Cut(name="from the other host", seconds=short_seconds, begin=Stage.cut_from_control_host),
        Cut(name="from the broker", seconds=short_seconds, begin=Stage.cut_from_broker),
        Cut(name="from everything", begin=Stage.cut_from_everything, **gone),
        Cut(
            name="powered off",
            begin=Stage.power_off,
            end=Stage.power_on,
            ends_engines=True,
            **gone,
        ),
    )


@dataclass(frozen=True, kw_only=True)
class CutCost:
    """What a cut cost. Seconds are from its end until everything was true again."""

    cut: str
    seconds: float
    true_after_seconds: float
    asked: int
    lost_at_its_gateway: int | None
    """None where clients do not reach it."""
    lost_at_other: int
    lost_at_other_after_noticed: int
    """Of those asked later than `NOTICED_SECONDS` after the beginning."""
    engines_replaced: int
    leases_left: int
    words: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class TwoServing:
    """Both hosts, and what flows to their gateways."""

    stage: Stage
    model_id: str
    near: Traffic
    """At the gateway beside the control plane."""
    far: Traffic

    def engines(self) -> set[int]:
        """Return the engines of both hosts."""
        return {*self.stage.control.pids(_ENGINE), *self.stage.gpu.pids(_ENGINE)}

    def is_true(self) -> bool:
        """Whether both hosts are there, each with a ready replica, and shown so."""
        with suppress(httpx.HTTPError, KeyError):
            shown = self.stage.get(f"models/{self.model_id}/deployments/production")
            return (
                len(self.engines()) == REPLICAS
                and shown["status"] == "ACTIVE"
                and shown["active_replica_count"] == REPLICAS
                and len(self.stage.nodes_present()) == REPLICAS
            )
        return False

    def leases(self) -> int:
        """Return how many claims on devices there are."""
        return self.stage.outside(self._leases)

    def _leases(self) -> int:
        url = self.stage.control.environment("web")["DATABASE_URL"]
        with psycopg.connect(url, connect_timeout=5) as connection:
            row = connection.execute(LEASES).fetchone()
        return int(row[0]) if row else 0


@contextmanager
def two_serving(folder: Path, *, each_second: float) -> Iterator[TwoServing]:
    """Start both hosts, and return once each has its replica ready."""
    more = {"ENGINE_PYTHON": stand_in(folder), "REPLICAS": str(REPLICAS), "SHARE_OF_HOST": "0.6"}
    with two_hosts(folder, more) as stage:
        stage.start_control_plane(with_gpu=True)
        stage.join_gpu_host()
        model_id = stage.control.run("prepare", *_WORDS_OF_DEPLOYED).split()[-1]
        near, far = (
            Traffic(
                url=endpoint(gateway_url=stage.url(host, GATEWAY), model_id=model_id),
                key=stage.api_key,
                each_second=each_second,
                is_echoed=True,
                place=stage.outside,
            )
            for host in (stage.control, stage.gpu)
        )
        served = TwoServing(stage, model_id, near, far)
        _wait_for_truth(served, "both replicas ready")
        yield served


def cost_of_cut(served: TwoServing, cut: Cut) -> CutCost:
    """Return what a cut costs while questions flow to every gateway that clients reach."""
    before, begins = served.engines(), (served.near.asked, served.far.asked)
    with ExitStack() as flowing:
        flowing.enter_context(served.near.flowing())
        if cut.reaches_its_gateway:
            flowing.enter_context(served.far.flowing())
        began_at = time.monotonic()
        cut.begin(served.stage)
        time.sleep(cut.seconds)
        cut.end(served.stage)
        ended_at = time.monotonic()
        _wait_for_truth(served, f"the truth after it was cut off {cut.name}")
        true_after_seconds = time.monotonic() - ended_at
    near = served.near.lost(begins[0])
    far = served.far.lost(begins[1])
    noticed = served.near.lost(begins[0], since=began_at + NOTICED_SECONDS)
    return CutCost(
        cut=cut.name,
        seconds=cut.seconds,
        true_after_seconds=round(true_after_seconds, 2),
        asked=served.near.asked - begins[0] + served.far.asked - begins[1],
        lost_at_its_gateway=len(far) if cut.reaches_its_gateway else None,
        lost_at_other=len(near),
        lost_at_other_after_noticed=len(noticed),
        engines_replaced=len(served.engines() - before),
        leases_left=served.leases() - REPLICAS,
        words=(*far.values(), *noticed.values(), *near.values())[:3],
    )


def cuts_told(served: TwoServing, cuts: Sequence[Cut]) -> dict[str, Any]:
    """Return the figures of these cuts, each in its turn."""
    costs = [(cut, cost_of_cut(served, cut)) for cut in cuts]
    return {**worst_of_cuts(costs), "cuts": {cut.name: cost.to_json() for cut, cost in costs}}


def worst_of_cuts(costs: Sequence[tuple[Cut, CutCost]]) -> dict[str, float]:
    """Return the worst or the sum of each column."""
    every = [cost for _, cost in costs]
    return {
        "cuts_true_seconds_max": max(cost.true_after_seconds for cost in every),
        "lost_at_its_own_gateway": sum(cost.lost_at_its_gateway or 0 for cost in every),
        "lost_elsewhere_after_noticed": sum(cost.lost_at_other_after_noticed for cost in every),
        "engines_replaced_by_cuts": sum(
            cost.engines_replaced for cut, cost in costs if not cut.ends_engines
        ),
        "leases_left_by_cuts": sum(cost.leases_left for cost in every),
    }


def _wait_for_truth(served: TwoServing, what: str) -> None:
    wait_for(served.is_true, what=partial(_told, served, what), longest_pause_seconds=_LOOK_SECONDS)


def _told(served: TwoServing, what: str) -> str:
    return served.stage.told(what)()
