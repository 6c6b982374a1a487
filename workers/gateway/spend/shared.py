"""Tells Valkey what this process counted of keys' spend, and hears what the others did.

Once a second, beside serving: no request waits for it. Without an answer this process counts alone.
"""

import uuid
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress

from redis import RedisError
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from controlplane.clock import SYSTEM, Clock
from workers.gateway.nudge import client_url
from workers.gateway.spend.counts import SpendCounts, Tokens
from workers.gateway.spend.measured import Place

PREFIX = "enginehouse:spend"
ANSWER_SECONDS = 1.0
_KEPT_SECONDS = 3 * 3600


class SharedSpend:
    def __init__(self, broker_url: str, counts: SpendCounts, *, clock: Clock = SYSTEM) -> None:
        self._counts = counts
        self._clock = clock
        self._process = uuid.uuid4().hex
        self._client = Redis.from_url(
            client_url(broker_url),
            retry=Retry(NoBackoff(), 0),
            health_check_interval=0,
            socket_connect_timeout=ANSWER_SECONDS,
            socket_timeout=ANSWER_SECONDS,
        )

    async def exchange(self) -> None:
        """Tell and hear once; count alone where there is no answer."""
        counted = self._counts.unshared()
        places = sorted(self._counts.places_near_limit)
        if not counted and not places:
            return
        try:
            async with self._clock.timeout(ANSWER_SECONDS):
                others = await self._exchange(counted, places)
        except (RedisError, OSError, TimeoutError):
            self._counts.count_alone()
        else:
            self._counts.merge(counted, others)

    async def close(self) -> None:
        with suppress(RedisError, OSError):
            await self._client.aclose()

    async def _exchange(
        self, counted: Mapping[Place, Tokens], places: list[Place]
    ) -> dict[Place, Tokens]:
        pipeline = self._client.pipeline(transaction=False)
        for place, own in counted.items():
            pipeline.hset(_name(place), items=_pairs(self._process, own))
            pipeline.expire(_name(place), _KEPT_SECONDS)
        for place in places:
            pipeline.hgetall(_name(place))
        answers = await pipeline.execute()
        stored = answers[len(answers) - len(places) :]
        return {place: self._others(each) for place, each in zip(places, stored, strict=True)}

    def _others(self, stored: Mapping[bytes, bytes]) -> Tokens:
        totals: Counter[str] = Counter()
        for field, tokens in stored.items():
            process, _, who = field.decode().partition(" ")
            if process != self._process:
                totals[who] += int(tokens)
        return totals


def _pairs(process: str, own: Tokens) -> list[str | int]:
    return [each for who, tokens in own.items() for each in (f"{process} {who}", tokens)]


def _name(place: Place) -> str:
    return f"{PREFIX}:{place.hour}:{place.deployment_id}"
