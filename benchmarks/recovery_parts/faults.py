"""One process of a serving installation killed or stopped: what it cost, and until when."""

import os
import signal
import time
from collections.abc import Callable, Collection, Iterator, Set
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from typing import Any

import psutil

from benchmarks.recovery_parts.clocks import CAN_BE_OFF
from benchmarks.recovery_parts.serving import REPLICAS, Serving
from tests.waiting import wait_for

DISK = "the disk under"


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A kill where `seconds` is None, else a stop for so long; or a clock that is days off."""

    kind: str
    seconds: float | None = None
    days_ahead: float | None = None
    """It is started anew with such a clock, and then with the right one."""

    @property
    def name(self) -> str:
        if self.days_ahead is not None:
            return f"{self.kind} {self.days_ahead:+g} days"
        if self.kind.startswith(DISK):
            return f"{self.kind} full for {self.seconds:g} s"
        return f"{self.kind} {'killed' if self.seconds is None else f'stopped {self.seconds:g} s'}"

    @property
    def ends_an_engine(self) -> bool:
        """Whether an engine has to be started in place of one that is gone."""
        return self.seconds is None and self.kind in _ONE_OF_SEVERAL


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What a fault cost. Seconds are from its end until everything was true again."""

    fault: str
    true_after_seconds: float
    asked: int
    in_flight: int
    """On what was killed, when it was."""
    lost: int
    lost_beyond_in_flight: int
    doubled: int | None
    """None with real engines, which do not tell."""
    usage_difference: int
    """Of requests and tokens counted against those answered."""
    engines_replaced: int
    orphans: int
    leases_left: int
    words: tuple[str, ...] = ()
    """How the first of those lost ended."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


CONTROL_PLANE = ("web", "agent", "scheduler", "control", "async", "build", "postgres", "valkey")
"""Without any of them, every request is answered."""
SUPERVISOR = "supervisor"
"""Which takes all but the engines along, so that what is asked until the next start is lost."""
OTHER_CLOCKS = tuple(
    Fault(kind=kind, days_ahead=days)
    for kind, days in (("gateway", 40.0), ("gateway", -40.0), ("agent", 40.0))
)
_CLOCKS = OTHER_CLOCKS if CAN_BE_OFF else ()
_KILLS = tuple(Fault(kind=kind) for kind in (*CONTROL_PLANE, "gateway", "engine", "runner"))
SHORT = (
    *_KILLS,
    Fault(kind="web", seconds=20),
    Fault(kind="agent", seconds=20),
    *_CLOCKS,
)
FULL = (
    *_KILLS,
    *_CLOCKS,
    *(
        Fault(kind=kind, seconds=60)
        for kind in (*CONTROL_PLANE, "gateway", "engine", "runner", SUPERVISOR)
    ),
    Fault(kind=SUPERVISOR),
)
_ONE_OF_SEVERAL = ("engine", "runner")
_BESIDE_SECONDS = 1.0
"""Of traffic before a fault and after it."""
_OFF_SECONDS = 8.0
"""For which a process goes by another clock: routes are polled, usage is shipped, nodes report."""
_LOOK_SECONDS = 0.5
_STEADY_SECONDS = 4.0
"""For which the truth has to hold: who was away longest has spoken and been swept by then."""


def cost_of(serving: Serving, fault: Fault) -> Cost:
    """Return what the fault costs while the questions flow."""
    return cost_while(serving, fault, lambda: _harm(serving, fault))


def cost_while(serving: Serving, fault: Fault, harm: Callable[[], "Harmed | None"]) -> Cost:
    """Return what it costs that the fault is done and ended by `harm` while the questions flow."""
    begin, engines = serving.traffic.asked, serving.engines()
    with serving.traffic.flowing():
        time.sleep(_BESIDE_SECONDS)
        harmed = harm() or Harmed()
        true_after_seconds = _true_after_seconds(serving, fault)
        time.sleep(_BESIDE_SECONDS)
    in_flight = harmed.asked - serving.begun_beside(harmed.engines)
    return Cost(
        fault=fault.name,
        true_after_seconds=round(true_after_seconds, 2),
        in_flight=len(in_flight),
        engines_replaced=len(serving.engines() - engines),
        **_counted(serving, begin, in_flight, harmed.engines),
        **_left(serving),
    )


def _true_after_seconds(serving: Serving, fault: Fault) -> float:
    """Return how long it was until everything was true, and stayed so."""
    ended_at = time.monotonic()
    while True:
        wait_for(
            serving.is_true,
            what=f"the truth after: {fault.name}",
            longest_pause_seconds=_LOOK_SECONDS,
        )
        true_at = time.monotonic()
        while serving.is_true():
            if fault.seconds is None or time.monotonic() - true_at > _STEADY_SECONDS:
                return true_at - ended_at
            time.sleep(_LOOK_SECONDS)


def _counted(
    serving: Serving, begin: int, in_flight: Set[int], killed: Collection[int]
) -> dict[str, Any]:
    lost = serving.traffic.lost(begin)
    return {
        "asked": serving.traffic.asked - begin,
        "lost": len(lost),
        "lost_beyond_in_flight": len(lost.keys() - in_flight),
        "doubled": serving.begun_twice(since=begin, but_by=killed),
        "usage_difference": _usage_difference(serving),
        "words": tuple(lost.values())[:3],
    }


def _left(serving: Serving) -> dict[str, int]:
    return {
        "orphans": len(serving.engines()) - REPLICAS + len(serving.here.pids("step")),
        "leases_left": serving.leases() - REPLICAS,
    }


def _usage_difference(serving: Serving) -> int:
    """Return by how much what is counted differs from what was answered, when no more comes in."""
    target = serving.traffic.answered()
    with suppress(AssertionError):
        wait_for(lambda: serving.usage() == target, what="the usage of every request")
    return sum(abs(is_ - want) for is_, want in zip(serving.usage(), target, strict=True))


@dataclass(frozen=True)
class Harmed:
    """Which processes of an engine were killed, and what was on its way at that moment."""

    engines: tuple[int, ...] = ()
    asked: frozenset[int] = frozenset()


def _harm(serving: Serving, fault: Fault) -> Harmed:
    if fault.days_ahead is not None:
        return _by_another_clock(serving, fault.kind, fault.days_ahead)
    if fault.seconds is not None:
        return _stopped_for(serving, fault.kind, fault.seconds)
    if fault.kind == SUPERVISOR:
        return _supervisor_killed(serving)
    engines = _family(serving.here.pid(fault.kind)) if fault.ends_an_engine else ()
    return Harmed(engines, _killed(serving, fault.kind))


def _killed(serving: Serving, kind: str) -> frozenset[int]:
    """Kill it, and return the questions that may have been in flight on it."""
    before, first = serving.traffic.on_their_way(), serving.traffic.asked
    victim = serving.here.kill(kind)
    # Until it is buried: a zombie's other threads may still have its connections open.
    wait_for(lambda: not psutil.pid_exists(victim), what=f"the end of the {kind}")
    if kind in CONTROL_PLANE:
        return frozenset()
    return frozenset({*before, *range(first, serving.traffic.asked)})


def _by_another_clock(serving: Serving, kind: str, days: float) -> Harmed:
    with serving.clocks.off(kind, days=days):
        request = _killed(serving, kind)
        wait_for(lambda: serving.clock_is_off(kind), what=f"a {kind} with another clock")
        time.sleep(_OFF_SECONDS)
    return Harmed(asked=request | _killed(serving, kind))


def _stopped_for(serving: Serving, kind: str, seconds: float) -> Harmed:
    with _stopped(serving, kind):
        time.sleep(seconds)
        waiting = serving.traffic.on_their_way()
    # Those at a gateway reach the engines at once, which may have no room for so many; of those at
    # an engine it may close what has been idle for too long by its clock.
    return Harmed(asked=frozenset(() if kind in (*CONTROL_PLANE, SUPERVISOR) else waiting))


def _supervisor_killed(serving: Serving) -> Harmed:
    os.kill(serving.here.machine.pid, signal.SIGKILL)
    serving.here.start_again()
    return Harmed()


def _family(pid: int) -> tuple[int, ...]:
    """Return the process and its children, whose end is its end."""
    return pid, *(each.pid for each in psutil.Process(pid).children())


@contextmanager
def _stopped(serving: Serving, kind: str) -> Iterator[None]:
    """Stop every process of the kind, or one of several engines."""
    pids = [serving.here.machine.pid] if kind == SUPERVISOR else serving.here.pids(kind)
    pids = pids[:1] if kind in _ONE_OF_SEVERAL else pids
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
