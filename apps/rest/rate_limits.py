"""How many requests a caller may send in a minute, counted in Valkey for all web processes."""

import logging
import math
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

from django.conf import settings
from django.core.cache import BaseCache, caches
from redis import RedisError
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from apps.rest.callers import caller_of
from controlplane.clock import SYSTEM, Clock

_log = logging.getLogger(__name__)
_WINDOW_SECONDS = 60
_REST_SECONDS = 5.0
"""How long a Valkey that did not answer is left alone."""


@dataclass(frozen=True, kw_only=True)
class Allowance:
    limit: int
    used: int
    reset_seconds: int

    @property
    def is_spent(self) -> bool:
        return self.used > self.limit

    def headers(self) -> dict[str, str]:
        return {
            "RateLimit-Limit": str(self.limit),
            "RateLimit-Remaining": str(max(0, self.limit - self.used)),
            "RateLimit-Reset": str(self.reset_seconds),
        }


class CallerThrottle(BaseThrottle):
    """Counts the requests of callers; without Valkey they are served uncounted."""

    clock: ClassVar[Clock] = SYSTEM
    silent_until: ClassVar[float] = 0.0

    _wait_seconds: int | None = None

    def allow_request(self, request: Request, view: Any) -> bool:
        view.allowance = allowance = self.spend(caller_of(request))
        self._wait_seconds = allowance.reset_seconds if allowance else None
        return allowance is None or not allowance.is_spent

    def wait(self) -> float | None:
        return self._wait_seconds

    def spend(self, caller: str) -> Allowance | None:
        """Count one request of the caller; None where nothing limits it, or nothing can count."""
        limit = settings.API_REQUESTS_PER_MINUTE
        if not limit or not caller or self.clock.monotonic() < self.silent_until:
            return None
        now = self.clock.time()
        window = int(now // _WINDOW_SECONDS)
        used = self._count(f"{caller}:{window}")
        if used is None:
            return None
        left = math.ceil((window + 1) * _WINDOW_SECONDS - now)
        return Allowance(limit=limit, used=used, reset_seconds=left)

    def _count(self, name: str) -> int | None:
        try:
            counts = _counts()
            first = counts.add(name, 1, 2 * _WINDOW_SECONDS)
            return 1 if first else counts.incr(name)
        except (RedisError, ValueError, OSError) as error:
            CallerThrottle.silent_until = self.clock.monotonic() + _REST_SECONDS
            _log.warning("rate limits are not counted: %s", type(error).__name__)
            return None


@cache
def _counts() -> BaseCache:
    # `caches["…"]` is made anew, with connections of its own, for each request under ASGI.
    return caches.create_connection("rate_limits")
