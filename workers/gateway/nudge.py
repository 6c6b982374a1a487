"""Listens for the word that routes changed; only a hint, polling goes on without it."""

import logging
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

from redis import RedisError
from redis.asyncio import Redis
from redis.asyncio.client import PubSub
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from controlplane.clock import SYSTEM, Clock

log = logging.getLogger(__name__)
CHANNEL = "routes_version"
RECONNECT_SECONDS = 2.0
ANSWER_SECONDS = 5.0
"""How long the broker may take to connect, to take a word, or to say nothing before it is asked."""
BREATH_SECONDS = 0.05


class Silent(Exception):
    """The broker has not answered in its time: it may be gone without a word."""


async def listen(broker_url: str, nudge: Callable[[], None], *, clock: Clock = SYSTEM) -> None:
    """Call `nudge` for every message on the channel, and after each reconnection."""
    url = client_url(broker_url)
    while True:
        try:
            await _hear(url, nudge, clock)
        except (RedisError, OSError, Silent) as error:
            log.debug("no nudges for now: %s", type(error).__name__)
        await clock.pause(RECONNECT_SECONDS)


async def _hear(url: str, nudge: Callable[[], None], clock: Clock) -> None:
    """Listen on one connection until it breaks, or is silent though it was asked."""
    # No repeats of the library's own: it repeats a read of a silent broker without ever waiting.
    client = Redis.from_url(
        url,
        retry=Retry(NoBackoff(), 0),
        health_check_interval=0,
        socket_connect_timeout=ANSWER_SECONDS,
        socket_timeout=ANSWER_SECONDS,
    )
    async with client, client.pubsub() as channel:
        async with clock.timeout(ANSWER_SECONDS):
            await channel.subscribe(CHANNEL)
        while True:
            kind = await _next(channel, clock)
            if kind in ("message", "subscribe"):
                nudge()
            # Whatever the library does, the loop turns, and a storm of words is a few nudges.
            await clock.pause(BREATH_SECONDS)


async def _next(channel: PubSub, clock: Clock) -> str:
    """Return the kind of the next message; the broker is asked once whether it is there."""
    for _ in range(2):
        try:
            async with clock.timeout(ANSWER_SECONDS):
                message = await channel.get_message(timeout=None)
        except TimeoutError:
            async with clock.timeout(ANSWER_SECONDS):
                await channel.ping()
            continue
        if message is None:
            raise Silent
        return str(message["type"])
    raise Silent


def client_url(broker_url: str) -> str:
    """Return Celery's form of a broker URL as redis-py reads it."""
    parts = urlsplit(broker_url)
    if parts.scheme != "redis+socket":
        return broker_url
    database = parse_qs(parts.query).get("virtual_host", ["0"])[0].lstrip("/") or "0"
    return f"unix://{parts.path}?db={database}"
