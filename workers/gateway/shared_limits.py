"""Counts the limits of keys together with all processes that reach the same Valkey.

Serving never waits for it but for the moment of an answer: from a broker that is silent, or says
anything else, this process counts alone until it answers again.
"""

import logging
import uuid
from contextlib import suppress

from redis import RedisError
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError

from controlplane.clock import SYSTEM, Clock
from workers.gateway.limit_holding import Question
from workers.gateway.limit_script import SCRIPT, SHA1, arguments, read_answers
from workers.gateway.limits import KeyLimits
from workers.gateway.nudge import client_url

log = logging.getLogger(__name__)
ANSWER_SECONDS = 0.25
"""A request waits no longer for an answer."""
LOOK_SECONDS = 1.0
RENEW_SECONDS = 3.0
"""Well below a lease, so that one lost question loses none."""
RETRY_SECONDS = 1.0
_MOST_KEYS = 200
"""In one question: Valkey does nothing else meanwhile."""


class SharedLimits:
    def __init__(
        self,
        broker_url: str,
        limits: KeyLimits,
        *,
        clock: Clock = SYSTEM,
        counts_by_clock: bool = False,
    ) -> None:
        """Leases and minutes go by Valkey's own time, or with `counts_by_clock` by `clock`."""
        self._limits = limits
        self._clock = clock
        self._counts_by_clock = counts_by_clock
        self._process = uuid.uuid4().hex
        self._renewed_at = self._looked_at = float("-inf")
        self._trouble: str | None = None
        self._client = Redis.from_url(
            client_url(broker_url),
            retry=Retry(NoBackoff(), 0),
            health_check_interval=0,
            # Whoever asks bounds it by the clock: two limits would be two answers of how long.
            socket_connect_timeout=None,
            socket_timeout=None,
        )

    async def run(self) -> None:
        """Ask whatever is to be asked, at once, and renew what is in hand."""
        try:
            while True:
                if self._limits.is_shared:
                    await self._wait()
                await self.ask()
                if not self._limits.is_shared:
                    await self._clock.pause(RETRY_SECONDS)
        finally:
            self._limits.count_alone(self._clock.monotonic())
            await self.close()

    async def ask(self) -> None:
        """Ask once; count together where there is an answer, and alone where there is none."""
        now, limits = self._clock.monotonic(), self._limits
        if now - self._looked_at >= LOOK_SECONDS:
            limits.look()
            self._looked_at = now
        is_due = now - self._renewed_at >= RENEW_SECONDS or not limits.is_shared
        questions = limits.questions(of_all=is_due)
        if not questions and not is_due:
            return
        try:
            async with self._clock.timeout(ANSWER_SECONDS):
                await self._ask_in_parts(questions)
        except (RedisError, OSError, TimeoutError) as error:
            limits.count_alone(self._clock.monotonic())
            self._say(type(error).__name__)
        else:
            self._renewed_at = now if is_due else self._renewed_at
            self._say(None)

    async def leave(self) -> None:
        """Give back what is in hand, for others to have it before its lease ends."""
        questions = self._limits.questions(of_all=True)
        with suppress(RedisError, OSError, TimeoutError):
            async with self._clock.timeout(ANSWER_SECONDS):
                await self._evaluate(questions, leaves=True)
        await self.close()

    async def close(self) -> None:
        with suppress(RedisError, OSError):
            await self._client.aclose()

    async def _wait(self) -> None:
        with suppress(TimeoutError):
            async with self._clock.timeout(LOOK_SECONDS):
                await self._limits.asks.wait()

    async def _ask_in_parts(self, questions: list[Question]) -> None:
        for at in range(0, max(1, len(questions)), _MOST_KEYS):
            part = questions[at : at + _MOST_KEYS]
            result = await self._evaluate(part)
            self._limits.answered(part, *read_answers(result))

    async def _evaluate(self, questions: list[Question], *, leaves: bool = False) -> list[bytes]:
        now = self._clock.time() if self._counts_by_clock else None
        keys, given = arguments(self._process, questions, now=now, leaves=leaves)
        try:
            result = await self._client.evalsha(SHA1, len(keys), *keys, *given)
        except NoScriptError:  # a Valkey that was started anew
            result = await self._client.eval(SCRIPT, len(keys), *keys, *given)
        return list(result)

    def _say(self, trouble: str | None) -> None:
        """Log when the others are lost and found, not once a second."""
        if trouble == self._trouble:
            return
        if trouble is None:
            log.info("limits of keys are counted together with other processes again")
        elif self._trouble is None:
            log.warning(
                "limits of keys are not counted together with other processes (%s): this one keeps "
                "to its share, one of %d",
                trouble,
                self._limits.processes,
            )
        self._trouble = trouble
