"""How much one key may ask: requests per minute and requests at a time, per gateway process."""

import math
from dataclasses import dataclass, field

from workers.gateway.refusals import Refused, rate_limited
from workers.gateway.snapshot import Key, Snapshot


@dataclass(slots=True)
class _Spent:
    tokens: float
    refilled_at: float
    running: int = 0


@dataclass(slots=True)
class KeyLimits:
    _by_key: dict[str, _Spent] = field(default_factory=dict)

    def enter(self, key: Key, *, now: float) -> bool:
        """Return whether the request was counted, so has to leave again.

        Raises Refused with an honest Retry-After.
        """
        per_minute, parallel = key.requests_per_minute, key.parallel_requests
        if per_minute is None and parallel is None:
            return False
        spent = self._by_key.get(key.id)
        if spent is None:
            spent = self._by_key[key.id] = _Spent(float(per_minute or 0), now)
        if parallel is not None and spent.running >= parallel:
            message = f"This API key may run {parallel} requests at a time, and {spent.running} run"
            raise Refused(rate_limited(f"{message} now.", retry_after_seconds=1))
        if per_minute is not None:
            _take(spent, per_minute, now)
        spent.running += 1
        return True

    def leave(self, key: Key) -> None:
        spent = self._by_key.get(key.id)
        if spent is not None and spent.running > 0:
            spent.running -= 1

    def keep_only(self, snapshot: Snapshot) -> None:
        """Forget keys that no longer exist and have nothing running."""
        live = {key.id for key in snapshot.keys.values()}
        self._by_key = {
            id: spent for id, spent in self._by_key.items() if id in live or spent.running
        }


def _take(spent: _Spent, per_minute: int, now: float) -> None:
    refill_per_second = per_minute / 60
    refilled = spent.tokens + (now - spent.refilled_at) * refill_per_second
    spent.tokens, spent.refilled_at = min(float(per_minute), refilled), now
    if spent.tokens < 1:
        wait = math.ceil((1 - spent.tokens) / refill_per_second) if per_minute else 60
        message = f"This API key may send {per_minute} requests a minute."
        raise Refused(rate_limited(f"{message} Wait {wait} s.", retry_after_seconds=wait))
    spent.tokens -= 1


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
