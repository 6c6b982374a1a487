"""One decision: the size that a deployment should have now, why, and when the next may come."""

from dataclasses import dataclass, replace

from controlplane.domain.counted import counted
from controlplane.domain.scaling.formula import NO_LOAD, Load, replicas_for
from controlplane.domain.scaling.reasons import Reason, ReasonCode, need_words
from controlplane.domain.scaling.settings import ScalingSettings

EDGE_WINDOWS = 10
EDGE_HEADROOM = 1.1
"""For so many windows after replicas were added, load counts as low only when it would still be so
with a tenth more: at the target's edge it goes up and down all the time. With the default delay
this changes nothing: that is longer."""
START_PATIENCE_SECONDS = 600
"""How long one that was woken may take to start while nobody asks. Source: the hosted product's
time limit of `wake`."""


@dataclass(frozen=True, kw_only=True)
class Signal:
    load: Load = NO_LOAD
    held: int = 0
    """Requests that wait for a replica right now."""
    missing: str = ""
    """Who said nothing lately, in words; empty where every gateway did."""


@dataclass(frozen=True, kw_only=True)
class Size:
    wanted: int
    ready: int
    ready_since: float | None = None
    """Since when a replica has been ready without a gap."""
    failed_starts: int = 0
    """In a row, without one that became ready."""


@dataclass(frozen=True, kw_only=True)
class Memory:
    """What a decision leaves for the next one, in seconds of the caller's clock."""

    low_since: float | None = None
    raised_at: float | None = None


@dataclass(frozen=True, kw_only=True)
class Decision:
    wanted: int
    reason: Reason
    by_load: int
    """What the formula alone says."""
    memory: Memory
    next_at: float | None = None
    """When replicas end if the load stays as low."""


def decide(
    settings: ScalingSettings, signal: Signal, size: Size, memory: Memory, *, now: float
) -> Decision:
    """Return what to do now. A signal that is missing in part may raise the size, not lower it."""
    return _Case(settings, signal, size, memory, now).decision()


@dataclass(frozen=True)
class _Case:
    settings: ScalingSettings
    signal: Signal
    size: Size
    memory: Memory
    now: float

    def decision(self) -> Decision:
        replicas, settings = self.size.wanted, self.settings
        if replicas != settings.within(replicas):
            return self._by_bounds()
        target = settings.within(max(self._by_load, min(1, self.signal.held)))
        if target > replicas:
            return self._up(target)
        if self.signal.missing:
            return self._keep(
                ReasonCode.SIGNAL_MISSING,
                f"{self.signal.missing}: the size stays as it is.",
            )
        if target == replicas:
            return self._steady()
        return self._down()

    @property
    def _by_load(self) -> int:
        return replicas_for(self.signal.load, self.settings)

    def _by_bounds(self) -> Decision:
        to = self.settings.within(self.size.wanted)
        name = "min_replica" if to > self.size.wanted else "max_replica"
        return self._move(to, ReasonCode.BOUNDS, f"`{name}` is {to}.")

    def _up(self, target: int) -> Decision:
        size = self.size
        if size.wanted == 0:
            reason = counted(self.signal.held, "request") if self.signal.held else "traffic"
            verb = "wait" if self.signal.held > 1 else "waits" if self.signal.held else "came"
            return self._move(target, ReasonCode.WOKEN, f"{reason} {verb} for a replica.")
        if size.failed_starts and size.ready < size.wanted:
            return self._keep(
                ReasonCode.STARTS_FAIL,
                f"{self._need} but {counted(size.failed_starts, 'start')} in a row failed: no more "
                "are asked for until one has worked.",
            )
        return self._move(target, ReasonCode.LOAD_ROSE, f"{self._need}.")

    def _steady(self) -> Decision:
        by_load, high = self._by_load, self.settings.max_replica
        if by_load > high:
            return self._keep(
                ReasonCode.AT_MOST, f"{self._need}; `max_replica` is {high}: requests wait."
            )
        return self._keep(ReasonCode.STEADY, f"{self._need}.")

    def _down(self) -> Decision:
        target = self._low_target
        if target >= self.size.wanted:
            return self._keep(
                ReasonCode.AT_EDGE, f"{self._need}, and little more would need what was added."
            )
        since = self.now if self.memory.low_since is None else self.memory.low_since
        to = max(target, self.size.wanted - self._step)
        due = self._due(since, to)
        if self.now < due:
            return Decision(
                wanted=self.size.wanted,
                reason=Reason(code=ReasonCode.WAITS, sentence=f"{self._need}; it may rise again."),
                by_load=self._by_load,
                memory=replace(self.memory, low_since=since),
                next_at=due,
            )
        code = ReasonCode.LOAD_FELL if to else ReasonCode.SLEEPS
        return self._move(to, code, f"{self._need}.")

    @property
    def _low_target(self) -> int:
        settings, raised_at = self.settings, self.memory.raised_at
        edge = EDGE_WINDOWS * settings.autoscaling_window
        is_fresh = raised_at is not None and self.now - raised_at < edge
        load = self.signal.load.times(EDGE_HEADROOM) if is_fresh else self.signal.load
        return settings.within(replicas_for(load, settings))

    @property
    def _step(self) -> int:
        return max(1, self.size.wanted * self.settings.max_scale_down_rate // 100)

    def _due(self, low_since: float, to: int) -> float:
        delay = self.settings.scale_down_delay
        if to > 0:
            return low_since + delay
        # Else one that was woken would go before it served, and be woken by the next request.
        if self.size.ready_since is None:
            return low_since + max(delay, START_PATIENCE_SECONDS)
        window = self.settings.autoscaling_window
        return max(low_since, self.size.ready_since) + max(delay, window)

    @property
    def _need(self) -> str:
        words = need_words(self.signal.load, self._by_load, self.settings)
        return words[0].upper() + words[1:]

    def _move(self, to: int, code: ReasonCode, sentence: str) -> Decision:
        is_up = to > self.size.wanted
        memory = Memory(
            low_since=None if is_up or to == self.settings.min_replica else self.now,
            raised_at=self.now if is_up else self.memory.raised_at,
        )
        reason = Reason(code=code, sentence=sentence[0].upper() + sentence[1:])
        return Decision(wanted=to, reason=reason, by_load=self._by_load, memory=memory)

    def _keep(self, code: ReasonCode, sentence: str) -> Decision:
        return Decision(
            wanted=self.size.wanted,
            reason=Reason(code=code, sentence=sentence),
            by_load=self._by_load,
            memory=replace(self.memory, low_since=None),
        )
