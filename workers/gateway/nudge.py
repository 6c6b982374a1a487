"""Listens for the word that routes changed; only a hint, polling goes on without it."""

import logging
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

from redis import RedisError
from redis.asyncio import Redis

from controlplane.clock import SYSTEM, Clock

log = logging.getLogger(__name__)
CHANNEL = "routes_version"
RECONNECT_SECONDS = 2.0


async def listen(broker_url: str, nudge: Callable[[], None], *, clock: Clock = SYSTEM) -> None:
    """Call `nudge` for every message on the channel, and after each reconnection."""
    url = client_url(broker_url)
    while True:
        try:
            async with Redis.from_url(url) as client, client.pubsub() as channel:
                await channel.subscribe(CHANNEL)
                async for _ in channel.listen():
                    nudge()
        except (RedisError, OSError) as error:
            log.debug("no nudges for now: %s", type(error).__name__)
        await clock.pause(RECONNECT_SECONDS)


def client_url(broker_url: str) -> str:
    """Return Celery's form of a broker URL as redis-py reads it."""
    parts = urlsplit(broker_url)
    if parts.scheme != "redis+socket":
        return broker_url
    database = parse_qs(parts.query).get("virtual_host", ["0"])[0].lstrip("/") or "0"
    return f"unix://{parts.path}?db={database}"
