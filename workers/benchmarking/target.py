"""One deployment under load: found to answer, its counting learned, then asked level by level."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from controlplane.clock import SYSTEM, Clock
from controlplane.domain.benchmarks.order import BenchmarkOrder, Target
from controlplane.domain.benchmarks.schedule import next_level
from controlplane.domain.benchmarks.timings import Timed
from controlplane.domain.benchmarks.verdicts import broken_limits
from controlplane.domain.failures import Failure
from controlplane.domain.failures.raised import RaisedFailure
from controlplane.domain.failures.registry import benchmarks
from workers.benchmarking.answers import Answer
from workers.benchmarking.connection import Client
from workers.benchmarking.level import Level
from workers.benchmarking.requests import Prepared, TokenRate, probe, requests_of

FIRST_ANSWER_SECONDS = 120.0
"""A deployment that sleeps is woken by the first request, and gateways learn of a new key."""
_LONGEST_DRAIN_SECONDS = 60.0
"""How long a level waits for the answers that were under way at its end."""
_PROBE_PAUSE_SECONDS = 1.0
_PROBES_AFTER_SILENCE = 5
_PROBE_WORDS = (8, 72)
_REFUSALS = ("HTTP 400", "HTTP 413", "HTTP 415", "HTTP 422")
Stage = dict[str, Any]


class TargetFailed(RaisedFailure):
    """The benchmark cannot go on with this deployment."""


class TargetRun:
    def __init__(
        self,
        order: BenchmarkOrder,
        target: Target,
        client: Client,
        *,
        clock: Clock = SYSTEM,
        ask: Callable[[Prepared, Timed], Awaitable[None]] | None = None,
    ) -> None:
        self._order, self.target, self._client, self._clock = order, target, client, clock
        self._ask = ask or self._ask_over_the_wire
        self.stages: list[Stage] = []
        self.current: Level | None = None
        self._seen: Stage | None = None
        self._rate = TokenRate()

    @property
    def next_level(self) -> float | None:
        """The level to measure next; None after the last."""
        tried = [(each["level"], not each["broken_limits"]) for each in self.stages]
        return next_level(self._order.load, tried)

    async def begin(self) -> None:
        """Return once it has answered. Raises TargetFailed."""
        counts = []
        for words in _PROBE_WORDS:
            counts.append(await self._first_answer(words))
        few, many = counts
        if self._is_without_samples and many > few > 0:
            per_word = (many - few) / (_PROBE_WORDS[1] - _PROBE_WORDS[0])
            self._rate = TokenRate(
                per_word=per_word, beside=max(0.0, few - per_word * _PROBE_WORDS[0])
            )

    async def measure(self, level: float) -> None:
        """Measure one level. Raises TargetFailed where the deployment is gone."""
        seed = self._order.seed * 1000 + len(self.stages)
        requests = requests_of(self._order, self.target, self._rate, seed=seed)

        async def ask(timed: Timed) -> None:
            await self._ask(next(requests), timed)

        self.current = Level(
            ask, self._order.load, level, seed=seed, clock=self._clock,
            drain_seconds=min(self._order.request_seconds, _LONGEST_DRAIN_SECONDS),
        )  # fmt: skip
        self._seen = None
        stage = await self.current.run()
        gone, error, self.current = self.current.is_gone, self.current.last_error, None
        if gone and not await self._still_answers():
            self.stages.append(self._judged(stage | {"is_partial": True}))
            raise TargetFailed(self._gone(level, error))
        self.stages.append(self._judged(stage))

    def stages_so_far(self, *, with_current: bool) -> list[Mapping[str, Any]]:
        if self.current is None:
            return [*self.stages]
        if with_current or self._seen is None:
            self._seen = self._judged(self.current.result(is_partial=True))
        return [*self.stages, self._seen]

    @property
    def _is_without_samples(self) -> bool:
        return not any(each.prompt_tokens is None for each in self._order.samples)

    def _judged(self, stage: Stage) -> Stage:
        return stage | {"broken_limits": broken_limits(self._order.limits, stage)}

    async def _first_answer(self, words: int) -> int:
        give_up_at = self._clock.monotonic() + FIRST_ANSWER_SECONDS
        while True:
            timed = Timed(due_at=self._clock.monotonic())
            await self._ask(probe(self.target, words), timed)
            if timed.is_good:
                return timed.prompt_tokens
            reason = timed.error or ""
            if reason.startswith(_REFUSALS):
                failure = benchmarks.REFUSED.failure(label=self.target.label, reason=reason)
                raise TargetFailed(failure)
            if self._clock.monotonic() >= give_up_at:
                raise TargetFailed(
                    benchmarks.SILENT.failure(
                        label=self.target.label, seconds=FIRST_ANSWER_SECONDS, reason=reason
                    )
                )
            await self._clock.pause(_PROBE_PAUSE_SECONDS)

    async def _still_answers(self) -> bool:
        """Return whether it was the load alone that it did not stand."""
        for _ in range(_PROBES_AFTER_SILENCE):
            timed = Timed(due_at=self._clock.monotonic())
            await self._ask(probe(self.target, _PROBE_WORDS[0]), timed)
            if timed.is_good:
                return True
            await self._clock.pause(_PROBE_PAUSE_SECONDS)
        return False

    def _gone(self, level: float, error: str) -> Failure:
        load = f"{level:g} {self._order.load.kind.unit}"
        return benchmarks.GONE.failure(label=self.target.label, load=load, reason=error)

    async def _ask_over_the_wire(self, request: Prepared, timed: Timed) -> None:
        timed.texts = request.texts
        answer = Answer(timed, is_stream=request.is_stream)
        content = self._client.written(request.route, request.body)
        await self._client.ask(content, answer, seconds=self._order.request_seconds)


async def level_by_level(runs: list[TargetRun]) -> None:
    """Measure all deployments; two take turns at each level, as the machine's pace drifts."""
    for run in runs:
        await run.begin()
    while any(run.next_level is not None for run in runs):
        for run in runs:
            if (level := run.next_level) is not None:
                await run.measure(level)
