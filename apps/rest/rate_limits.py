"""How many requests a caller may send in a minute, counted in Valkey for all web processes."""

import logging
import math
from dataclasses import dataclass
from functools import cache

import redis
from django.conf import settings

from controlplane.clock import SYSTEM, Clock

_log = logging.getLogger(__name__)
_WINDOW_SECONDS = 60
_REST_SECONDS = 5.0
"""How long a Valkey that did not answer is left alone."""


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """What a caller has left of the running minute."""

    limit: int
    used: int
    reset_seconds: int

    @property
    def is_spent(self) -> bool:
        return self.used > self.limit

    def headers(self) -> dict[str, str]:
        """Return the headers that tell it."""
        return {
            "RateLimit-Limit": str(self.limit),
            "RateLimit-Remaining": str(max(0, self.limit - self.used)),
            "RateLimit-Reset": str(self.reset_seconds),
        }


class RateLimits:
    """Counts the requests of callers; without Valkey they are served uncounted."""

    def __init__(self, *, clock: Clock = SYSTEM) -> None:
        self._clock = clock
        self._silent_until = 0.0

    def spend(self, caller: str) -> Allowance | None:
        """Count one request of the caller; None where nothing limits it, or nothing can count."""
        limit = settings.API_REQUESTS_PER_MINUTE
        if not limit or not caller or self._clock.monotonic() < self._silent_until:
            return None
        now = self._clock.time()
        window = int(now // _WINDOW_SECONDS)
        used = self._count(f"enginehouse:rest:{caller}:{window}")
        if used is None:
            return None
        left = math.ceil((window + 1) * _WINDOW_SECONDS - now)
        return Allowance(limit=limit, used=used, reset_seconds=left)

    def _count(self, name: str) -> int | None:
        """Return how often the name was counted."""
        try:
            with _valkey(settings.BROKER_URL).pipeline(transaction=False) as pipeline:
                pipeline.incr(name)
                pipeline.expire(name, 2 * _WINDOW_SECONDS)
                return int(pipeline.execute()[0])
        except (redis.RedisError, ValueError, OSError) as error:
            self._silent_until = self._clock.monotonic() + _REST_SECONDS
            _log.warning("rate limits are not counted: %s", type(error).__name__)
            return None


@cache
def _valkey(url: str) -> redis.Redis:
    return redis.Redis.from_url(url, socket_timeout=0.25, socket_connect_timeout=0.25)
