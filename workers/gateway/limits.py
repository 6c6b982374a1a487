"""How much one key may ask: requests and tokens per minute, requests at a time, per gateway."""

import math
from dataclasses import dataclass, field

from workers.gateway.refusals import Refused, rate_limited
from workers.gateway.snapshot import Key, Snapshot


@dataclass(slots=True)
class _Bucket:
    """What is left of a limit per minute; it refills steadily and may go into debt."""

    left: float
    refilled_at: float

    def refill(self, per_minute: int, now: float) -> None:
        refilled = self.left + (now - self.refilled_at) * per_minute / 60
        self.left, self.refilled_at = min(float(per_minute), refilled), now

    def seconds_until(self, wanted: float, per_minute: int) -> int:
        return max(1, math.ceil((wanted - self.left) * 60 / per_minute)) if per_minute else 60


@dataclass(slots=True)
class _Spent:
    requests: _Bucket
    tokens: _Bucket
    running: int = 0


@dataclass(slots=True)
class KeyLimits:
    _by_key: dict[str, _Spent] = field(default_factory=dict)

    def enter(self, key: Key, *, now: float) -> bool:
        """Return whether the request was counted, so has to leave again.

        Raises Refused with an honest Retry-After.
        """
        requests, tokens = key.requests_per_minute, key.tokens_per_minute
        if requests is None and tokens is None and key.parallel_requests is None:
            return False
        spent = self._by_key.get(key.id)
        if spent is None:
            spent = self._by_key[key.id] = _Spent(
                requests=_Bucket(float(requests or 0), now), tokens=_Bucket(float(tokens or 0), now)
            )
        if key.parallel_requests is not None and spent.running >= key.parallel_requests:
            raise _crowded(key.parallel_requests, spent.running)
        if tokens is not None:
            _refuse_debt(spent.tokens, tokens, now)
        if requests is not None:
            _take(spent.requests, requests, now)
        spent.running += 1
        return True

    def leave(self, key: Key, *, tokens: int = 0) -> None:
        """Let the next one in; what it read and wrote is known only now."""
        spent = self._by_key.get(key.id)
        if spent is not None and spent.running > 0:
            spent.running -= 1
            spent.tokens.left -= tokens

    def keep_only(self, snapshot: Snapshot) -> None:
        """Forget keys that no longer exist and have nothing running."""
        live = {key.id for key in snapshot.keys.values()}
        self._by_key = {
            id: spent for id, spent in self._by_key.items() if id in live or spent.running
        }


def _crowded(parallel: int, running: int) -> Refused:
    message = f"This API key may run {parallel} requests at a time, and {running} run now."
    return Refused(rate_limited(message, retry_after_seconds=1))


def _refuse_debt(bucket: _Bucket, per_minute: int, now: float) -> None:
    bucket.refill(per_minute, now)
    if bucket.left <= 0:
        wait = bucket.seconds_until(1, per_minute)
        message = f"This API key may use {per_minute} tokens a minute, and has used more."
        raise Refused(rate_limited(f"{message} Wait {wait} s.", retry_after_seconds=wait))


def _take(bucket: _Bucket, per_minute: int, now: float) -> None:
    bucket.refill(per_minute, now)
    if bucket.left < 1:
        wait = bucket.seconds_until(1, per_minute)
        message = f"This API key may send {per_minute} requests a minute."
        raise Refused(rate_limited(f"{message} Wait {wait} s.", retry_after_seconds=wait))
    bucket.left -= 1


@dataclass(slots=True)
class RetryBudget:
    """At most a tenth of the requests may be repeated, so that retries never feed an outage."""

    ratio: float = 0.1
    most: float = 10.0
    tokens: float = 10.0

    def request(self) -> None:
        self.tokens = min(self.most, self.tokens + self.ratio)

    def spend(self) -> bool:
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True
