"""What one process lets a key do while it counts alone: its share of the key's limits."""

import math
from dataclasses import dataclass

from workers.gateway.refusals import Refusal, rate_limited
from workers.gateway.snapshot import Key


@dataclass(slots=True)
class Bucket:
    """What is left of a share per minute; it refills steadily and may go into debt."""

    left: float
    refilled_at: float
    used: float = 0.0
    """Since what was used was last told to those that count together."""

    def refill(self, per_minute: float, most: float, now: float) -> None:
        refilled = self.left + (now - self.refilled_at) * per_minute / 60
        self.left, self.refilled_at = min(most, refilled), now

    def use(self, amount: float) -> None:
        self.left -= amount
        self.used += amount

    def owed(self, before: float, most: float) -> float:
        """Return what the others have to be told by now, and count anew.

        Of a long time no more than a full share matters: the rest has been refilled since.
        """
        owed, self.used = min(before + self.used, max(most, -self.left)), 0.0
        return owed


@dataclass(slots=True)
class Share:
    """One key's buckets in one of so many processes."""

    requests: Bucket
    tokens: Bucket

    @classmethod
    def full(cls, key: Key, processes: int, now: float) -> "Share":
        """Return the share of a process that has counted with nobody yet."""
        return cls(
            Bucket(most_requests(key, processes), now), Bucket(most_tokens(key, processes), now)
        )

    @classmethod
    def empty(cls, since: float) -> "Share":
        """Return the share of a process that has lost the others, as it was at that moment."""
        return cls(Bucket(0.0, since), Bucket(0.0, since))

    def refusal(self, key: Key, running: int, processes: int, now: float) -> Refusal | None:
        """Return why a request may not begin now; otherwise it counts from here on."""
        if key.parallel_requests is not None:
            most = max(1, key.parallel_requests // processes)
            if running >= most:
                return crowded(key.parallel_requests, running)
        if (per_minute := key.tokens_per_minute) is not None:
            self.tokens.refill(per_minute / processes, most_tokens(key, processes), now)
            if self.tokens.left <= 0:
                return too_many_tokens(per_minute, self.tokens.left, processes)
        if (per_minute := key.requests_per_minute) is not None:
            self.requests.refill(per_minute / processes, most_requests(key, processes), now)
            if self.requests.left < 1:
                return too_many_requests(per_minute, self.requests.left, processes)
            self.requests.use(1)
        return None


def most_requests(key: Key, processes: int) -> float:
    """Return how many requests a share holds at the most: a whole one at the least."""
    limit = key.requests_per_minute or 0
    return max(1.0, limit / processes) if limit else 0.0


def most_tokens(key: Key, processes: int) -> float:
    return (key.tokens_per_minute or 0) / processes


def crowded(parallel: int, running: int) -> Refusal:
    message = f"This API key may run {parallel} requests at a time, and {running} run now."
    return rate_limited(message, retry_after_seconds=1)


def too_many_tokens(per_minute: int, left: float, processes: int = 1) -> Refusal:
    wait = _seconds_until(1, left, per_minute / processes)
    message = f"This API key may use {per_minute} tokens a minute, and has used more."
    return rate_limited(f"{message} Wait {wait} s.", retry_after_seconds=wait)


def too_many_requests(per_minute: int, left: float, processes: int = 1) -> Refusal:
    wait = _seconds_until(1, left, per_minute / processes)
    message = f"This API key may send {per_minute} requests a minute."
    return rate_limited(f"{message} Wait {wait} s.", retry_after_seconds=wait)


def _seconds_until(needed: float, left: float, per_minute: float) -> int:
    return max(1, math.ceil((needed - left) * 60 / per_minute)) if per_minute else 60
