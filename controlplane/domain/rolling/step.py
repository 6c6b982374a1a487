"""The next step of a roll, and why: one change at a time, each waited for before the next.

Up: the candidate grows, takes the share that its replicas can carry, and once every gateway works
by that share, as many replicas of the deployment in place end. Down: the same, the other way round.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

from controlplane.domain.counted import counted
from controlplane.domain.rolling.roll import Direction, Pause, Roll
from controlplane.domain.rolling.settings import RAMP_STAGES, RollSettings, Strategy


class Outcome(StrEnum):
    GOES_ON = "goes_on"
    SWITCH = "switch"
    """The candidate carries everything: the environment points at it."""
    RETURNED = "returned"
    """The deployment in place carries everything again."""


class StepCode(StrEnum):
    WAITS_FOR_REPLICAS = "waits_for_replicas"
    WAITS_FOR_GATEWAYS = "waits_for_gateways"
    WAITS_FOR_ROOM = "waits_for_room"
    WAITS_FOR_ANSWERS = "waits_for_answers"
    STABILIZES = "stabilizes"
    SHARE_RAISED = "share_raised"
    SHARE_LOWERED = "share_lowered"
    REPLICAS_MOVED = "replicas_moved"
    CANARY_HOLDS = "canary_holds"
    PAUSED = "paused"
    SWITCHED = "switched"
    RETURNED = "returned"


@dataclass(frozen=True, kw_only=True)
class Sizes:
    candidate_ready: int
    current_ready: int
    current_live: int
    """With those that start or leave."""
    current_wanted: int
    is_applied: bool
    """Whether every live gateway works by the share."""
    demand: int = 0
    """As many as the load of both together asks for."""
    answers_awaited: str = ""
    """What is still asked of both before the first share, in words."""


@dataclass(frozen=True, kw_only=True)
class Step:
    roll: Roll
    candidate_wanted: int
    current_wanted: int
    code: StepCode
    sentence: str
    outcome: Outcome = Outcome.GOES_ON


def next_step(settings: RollSettings, roll: Roll, sizes: Sizes, *, now: float) -> Step:
    """Return what to do now; a share is moved only to replicas that are ready to carry it."""
    roll = replace(roll, total=max(roll.total, sizes.demand))
    if roll.held_since is None and sizes.is_applied:
        roll = replace(roll, held_since=now)
    return _Case(settings, roll, sizes, now).step()


@dataclass(frozen=True)
class _Case:
    settings: RollSettings
    roll: Roll
    sizes: Sizes
    now: float

    def step(self) -> Step:
        roll = self.roll
        if roll.paused is not None:
            return self._keep(StepCode.PAUSED, roll.why_paused or "Paused until it is resumed.")
        if roll.held_since is None:
            share = f"the share of {roll.percent} %"
            return self._keep(
                StepCode.WAITS_FOR_GATEWAYS, f"Not every gateway works by {share} yet."
            )
        return self._up() if roll.direction is Direction.UP else self._down()

    # Up.

    def _up(self) -> Step:
        roll, settings = self.roll, self.settings
        left = settings.dwell_seconds - (self.now - self._paused_since)
        if roll.percent and left > 0:
            return self._keep(StepCode.STABILIZES, f"{roll.percent} % hold for {left:.0f} s more.")
        if self._is_canary_reached:
            return self._hold_as_canary()
        if settings.strategy is Strategy.REPLICA and roll.percent >= self._share(self._target):
            return self._move_replicas()
        if self.sizes.candidate_ready < self._needed:
            return self._wait()
        if self.sizes.answers_awaited:
            return self._keep(StepCode.WAITS_FOR_ANSWERS, self.sizes.answers_awaited)
        return self._raise() if self._cap else self._hold_as_canary()

    @property
    def _paused_since(self) -> float:
        return self.now if self.roll.held_since is None else self.roll.held_since

    @property
    def _cap(self) -> int:
        canary = self.settings.holds_at
        return canary if canary is not None and not self.roll.is_canary_over else 100

    @property
    def _is_canary_reached(self) -> bool:
        return 0 < self._cap < 100 and self.roll.percent >= self._cap

    def _hold_as_canary(self) -> Step:
        gets = f"{self.roll.percent} %" if self._cap else "what asks for it by a header"
        sentence = f"As a canary it gets {gets} until it is resumed."
        paused_roll = replace(self.roll, paused=Pause.CANARY, why_paused=sentence)
        return replace(self, roll=paused_roll)._keep(StepCode.CANARY_HOLDS, sentence)

    def _move_replicas(self) -> Step:
        moved = replace(self.roll, moved=self._target)
        count = counted(moved.total - moved.moved, "replica")
        return replace(self, roll=moved)._keep(
            StepCode.REPLICAS_MOVED, f"{count} carry the other {100 - moved.percent} %."
        )

    @property
    def _step(self) -> int:
        total = self.roll.total
        return self.settings.surge(total) + self.settings.unavailable(total)

    @property
    def _target(self) -> int:
        """As many replicas as the candidate is to carry with next."""
        total, moved = self.roll.total, self.roll.moved
        if moved and moved >= total - self.settings.unavailable(total):
            return total
        if self.settings.strategy is Strategy.AT_ONCE and self._cap < 100:
            return max(1, -(-total * self._cap // 100))
        return min(moved + self._step, total)

    @property
    def _needed(self) -> int:
        """As many of the candidate as must be ready before its share grows."""
        total = self.roll.total
        missing = self.settings.unavailable(total) if self._target == total else 0
        return max(1, self.settings.with_overhead(self._target - missing))

    def _share(self, replicas: int) -> int:
        total = self.roll.total
        return 100 if replicas >= total else max(1, 100 * replicas // total) if replicas else 0

    def _wait(self) -> Step:
        ready, needed = self.sizes.candidate_ready, self._needed
        if self._waits_for_room:
            leaving = counted(self.sizes.current_live - self._current_wanted, "replica")
            return self._keep(StepCode.WAITS_FOR_ROOM, f"{leaving} must end before more start.")
        verb = "is" if ready == 1 else "are"
        return self._keep(
            StepCode.WAITS_FOR_REPLICAS, f"{ready} of {needed} needed replicas {verb} ready."
        )

    def _raise(self) -> Step:
        percent = min(self._next_share, self._cap)
        raised = replace(self.roll, percent=percent, held_since=None)
        if percent == 100:
            return replace(self, roll=raised)._keep(
                StepCode.SWITCHED, "It carries all traffic.", Outcome.SWITCH
            )
        ready = counted(self.sizes.candidate_ready, "ready replica")
        return replace(self, roll=raised)._keep(
            StepCode.SHARE_RAISED, f"{percent} % of the traffic goes to its {ready}."
        )

    @property
    def _next_share(self) -> int:
        if self.settings.strategy is Strategy.RAMP:
            stage = 100 // RAMP_STAGES
            return min(100, (self.roll.percent // stage + 1) * stage)
        return self._share(self._target)

    # Down.

    def _down(self) -> Step:
        roll = self.roll
        if not roll.percent:
            return self._keep(
                StepCode.RETURNED, "Traffic is where it was before.", Outcome.RETURNED
            )
        ready, needed = self.sizes.current_ready, self._needed_back
        if ready < needed:
            return self._keep(
                StepCode.WAITS_FOR_REPLICAS,
                f"{ready} of {needed} replicas of the deployment in place are ready to take "
                "more back.",
            )
        percent = min(roll.percent, self._share(self._left))
        lowered = replace(roll, percent=percent, moved=self._left, held_since=None)
        return replace(self, roll=lowered)._keep(
            StepCode.SHARE_LOWERED, f"{percent} % of the traffic is left at the candidate."
        )

    @property
    def _left(self) -> int:
        """As many replicas as the candidate carries with after the next step back."""
        return max(0, self.roll.moved - self._step)

    @property
    def _needed_back(self) -> int:
        total = self.roll.total
        if self.settings.strategy is not Strategy.REPLICA:
            return 1  # none of them was asked to end
        return max(1, total - self._left - self.settings.unavailable(total))

    # Sizes.

    @property
    def _current_wanted(self) -> int:
        roll = self.roll
        if roll.direction is Direction.DOWN:
            left = self._left if roll.held_since is not None else roll.moved
            # None of it ends: gateways may not know yet of the share that it had lost.
            return max(1, roll.total - left, self.sizes.current_wanted)
        missing = self.settings.unavailable(roll.total)
        if not roll.moved and not missing:
            return max(roll.total, self.sizes.current_wanted)
        return max(1, roll.total - roll.moved - missing)

    @property
    def _candidate_wanted(self) -> int:
        roll, more = self.roll, self.settings.with_overhead
        if roll.direction is Direction.DOWN:
            # What it carries until gateways know of less.
            carries = roll.moved + (self._step if roll.held_since is None else 0)
            return more(max(1, min(carries, roll.total)))
        return more(max(1, roll.moved)) if self._waits_for_room else more(self._target)

    @property
    def _waits_for_room(self) -> bool:
        """Whether more of the candidate would exceed what both together may be."""
        return self.sizes.current_live > self._current_wanted

    def _keep(self, code: StepCode, sentence: str, outcome: Outcome = Outcome.GOES_ON) -> Step:
        return Step(
            roll=self.roll,
            candidate_wanted=self._candidate_wanted,
            current_wanted=self._current_wanted,
            code=code,
            sentence=sentence,
            outcome=outcome,
        )
