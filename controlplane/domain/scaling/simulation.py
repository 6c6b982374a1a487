"""What settings would have done with some traffic, by a clock of its own: nothing waits for time.

One request takes one place of a replica for its whole time; who finds none waits, first come first
served. Starts take time, may fail, and fail again later each time, as they do in earnest.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import ceil

from controlplane.domain.scaling.decision import Memory, Signal, Size, decide
from controlplane.domain.scaling.formula import Load, replicas_for
from controlplane.domain.scaling.settings import ScalingSettings

DECIDE_SECONDS = 3
"""Time between two decisions."""
SIGNAL_DELAY_SECONDS = 5
"""How old what a decision knows of the load may be."""
_LONGEST_WAIT_SECONDS = 60


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """So many requests arrive in each step, and each takes so long."""

    arrivals: Sequence[int]
    service_seconds: float
    step_seconds: int = 1


@dataclass(frozen=True, kw_only=True)
class World:
    start_seconds: float = 120.0
    places: int | None = None
    """Requests at once that one replica takes; as many as the target where it is None."""
    start_fails: Callable[[int, float], bool] = lambda number, now: False
    """Whether the start of that number, ending now, fails."""
    signal_is_lost: Callable[[float], bool] = lambda now: False
    deciders: int = 1
    """A second one decides by what the first one saw a step before."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    requests: int
    waited: int
    """Requests that found no place."""
    wait_seconds: float
    """Of all of them together."""
    longest_wait_seconds: float
    replica_seconds: float
    """For which GPUs were held, starting included."""
    formula_replica_seconds: float
    """Of the formula alone, if starts took no time and nothing were kept for later."""
    cold_starts: int
    """From zero."""
    starts: int
    changes: int
    turns: int
    """Changes against the one before, within two windows of it."""
    highest: int
    sizes: Sequence[int]
    """Wanted replicas at each step."""


@dataclass
class _Tally:
    waited: int = 0
    wait_seconds: float = 0.0
    longest_wait_seconds: float = 0.0
    replica_seconds: float = 0.0
    formula_replica_seconds: float = 0.0
    cold_starts: int = 0
    starts: int = 0
    changes: int = 0
    turns: int = 0
    highest: int = 0
    sizes: list[int] = field(default_factory=list)


def simulate(
    settings: ScalingSettings, traffic: Traffic, world: World, *, first: int = 1
) -> Outcome:
    """Return what would have come of it, beginning with `first` replicas that are ready."""
    run = _Run(settings, traffic, world, first)
    for count in traffic.arrivals:
        run.step(count)
    figures = {name: value for name, value in vars(run.tally).items() if name != "sizes"}
    return Outcome(requests=sum(traffic.arrivals), sizes=tuple(run.tally.sizes), **figures)


class _Run:
    def __init__(
        self, settings: ScalingSettings, traffic: Traffic, world: World, first: int
    ) -> None:
        self._settings, self._world = settings, world
        self._step_seconds, self._service_seconds = traffic.step_seconds, traffic.service_seconds
        self._requests = _Requests(traffic.service_seconds)
        self._window = _Window(settings.autoscaling_window, traffic.step_seconds)
        self._replicas = _Replicas(world, first)
        self._now, self._decide_at, self._wanted = 0.0, 0.0, first
        self._memory = Memory()
        self._last_change: tuple[float, int] | None = None
        self._stale: tuple[int, int] | None = None
        self.tally = _Tally(highest=first)

    def step(self, arrived: int) -> None:
        self._replicas.advance(self._now)
        self._serve(arrived)
        self._window.add(self._requests.in_flight)
        if self._now >= self._decide_at:
            self._decide()
            self._decide_at = self._now + max(DECIDE_SECONDS, self._step_seconds)
        self.tally.starts += self._replicas.order(self._wanted, self._now)
        self._count()
        self._now += self._step_seconds

    def _serve(self, arrived: int) -> None:
        places = self._world.places or self._settings.concurrency_target
        self._requests.finish(self._now)
        self._requests.arrive(arrived, self._now)
        for waited, count in self._requests.begin(places * self._replicas.ready, self._now):
            if waited > 0:
                self.tally.waited += count
                self.tally.wait_seconds += waited * count
                self.tally.longest_wait_seconds = max(self.tally.longest_wait_seconds, waited)

    def _decide(self) -> None:
        if (stale := self._stale) is not None and stale[0] == self._wanted:
            self._move(stale[1])  # compare and set: else someone else was faster
        self._stale = None
        is_lost = self._world.signal_is_lost(self._now)
        load = Load() if is_lost else Load(requests=self._window.mean_of(SIGNAL_DELAY_SECONDS))
        signal = Signal(
            load=load,
            held=0 if is_lost or self._replicas.ready else self._requests.waiting,
            missing="No gateway spoke" if is_lost else "",
        )
        decision = decide(self._settings, signal, self._size(), self._memory, now=self._now)
        self._memory = decision.memory
        if self._world.deciders > 1:
            self._stale = (self._wanted, decision.wanted)
        self._move(decision.wanted)

    def _size(self) -> Size:
        replicas = self._replicas
        return Size(
            wanted=self._wanted,
            ready=replicas.ready,
            ready_since=replicas.ready_since,
            failed_starts=replicas.failures,
        )

    def _move(self, to: int) -> None:
        if to == self._wanted:
            return
        direction = 1 if to > self._wanted else -1
        if (last := self._last_change) is not None:
            is_soon = self._now - last[0] < 2 * self._settings.autoscaling_window
            self.tally.turns += is_soon and last[1] != direction
        self._last_change = (self._now, direction)
        self.tally.changes += 1
        self.tally.cold_starts += self._wanted == 0
        self._wanted = to
        self.tally.highest = max(self.tally.highest, to)

    def _count(self) -> None:
        ideal = replicas_for(Load(requests=self._window.mean), self._settings)
        tally = self.tally
        tally.formula_replica_seconds += self._settings.within(ideal) * self._step_seconds
        tally.replica_seconds += self._replicas.held * self._step_seconds
        tally.sizes.append(self._wanted)


class _Requests:
    """Those that wait and those that run, each with when it came or ends."""

    def __init__(self, service_seconds: float) -> None:
        self._service_seconds = service_seconds
        self._queue: deque[list[float]] = deque()
        self._running: deque[tuple[float, int]] = deque()
        self.waiting = self.running = 0

    @property
    def in_flight(self) -> int:
        return self.waiting + self.running

    def finish(self, now: float) -> None:
        while self._running and self._running[0][0] <= now:
            self.running -= self._running.popleft()[1]

    def arrive(self, count: int, now: float) -> None:
        if count:
            self._queue.append([now, count])
            self.waiting += count

    def begin(self, places: int, now: float) -> list[tuple[float, int]]:
        """Return how long those waited that begin now, with their counts."""
        begun, free = [], places - self.running
        while free > 0 and self._queue:
            came, there = self._queue[0]
            count = min(free, int(there))
            if count == there:
                self._queue.popleft()
            else:
                self._queue[0][1] -= count
            free -= count
            self.waiting -= count
            self.running += count
            self._running.append((now + self._service_seconds, count))
            begun.append((now - came, count))
        return begun


class _Window:
    """The mean over the window, as it was a few seconds ago too."""

    def __init__(self, window_seconds: int, step_seconds: int) -> None:
        self._length = max(1, ceil(window_seconds / step_seconds))
        self._step_seconds = step_seconds
        self._values: deque[int] = deque()
        self._sum = 0
        self._means: deque[float] = deque(maxlen=16)

    def add(self, value: int) -> None:
        self._values.append(value)
        self._sum += value
        if len(self._values) > self._length:
            self._sum -= self._values.popleft()
        self._means.append(self.mean)

    @property
    def mean(self) -> float:
        return self._sum / len(self._values) if self._values else 0.0

    def mean_of(self, seconds_ago: int) -> float:
        back = min(len(self._means), 1 + seconds_ago // self._step_seconds)
        return self._means[-back]


class _Replicas:
    """Those that are ready, and when each of the others ends its start."""

    def __init__(self, world: World, ready: int) -> None:
        self._world = world
        self._coming: list[float] = []
        self._next_start_at = 0.0
        self._ended_starts = 0
        self.ready, self.failures = ready, 0
        self.ready_since: float | None = 0.0 if ready else None

    @property
    def held(self) -> int:
        return self.ready + len(self._coming)

    def advance(self, now: float) -> None:
        done = [each for each in self._coming if each <= now]
        self._coming = [each for each in self._coming if each > now]
        for _ in done:
            self._end_start(now)

    def order(self, count: int, now: float) -> int:
        """Return how many starts began; what is too much ends, the youngest first."""
        while self.held > count:
            if self._coming:
                self._coming.pop()
            else:
                self.ready -= 1
        if not self.ready:
            self.ready_since = None
        missing = count - self.held if now >= self._next_start_at else 0
        self._coming += [now + self._world.start_seconds] * missing
        return missing

    def _end_start(self, now: float) -> None:
        self._ended_starts += 1
        if self._world.start_fails(self._ended_starts, now):
            self.failures += 1
            self._next_start_at = now + min(2**self.failures, _LONGEST_WAIT_SECONDS)
            return
        self.failures = 0
        self.ready += 1
        if self.ready_since is None:
            self.ready_since = now
