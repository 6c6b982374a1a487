"""What the control plane measured of a key's month, from which gateways count on."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

HOUR_SECONDS = 3600


class Place(NamedTuple):
    """One deployment within one hour, which begins at so many seconds since the epoch."""

    hour: int
    deployment_id: str


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenHour:
    """Of an hour whose usage may not have come in whole."""

    place: Place
    money: float
    """Of the deployment's GPUs, up to the measurement."""
    tokens: int
    """Of all keys, of which usage has come in."""
    key_tokens: int
    key_money: float

    def spent(self, tokens: int, key_tokens: int, now: float, measured_at: float) -> float:
        """Return the key's part by what was counted; GPUs go on costing until the hour is over."""
        key_tokens = max(key_tokens, self.key_tokens)
        tokens = max(tokens, self.tokens, key_tokens)
        if not tokens:
            return self.key_money
        return self._money_at(now, measured_at) * key_tokens / tokens

    def _money_at(self, now: float, measured_at: float) -> float:
        passed = measured_at - self.place.hour
        if not 0 < passed < HOUR_SECONDS:
            return self.money
        return self.money * max(passed, min(now - self.place.hour, HOUR_SECONDS)) / passed


@dataclass(frozen=True, kw_only=True, slots=True)
class Spend:
    """Of one key: what is left of its month beside the hours that are still open."""

    left: float | None
    """None where it is far from its limit, whatever is used until the next measurement."""
    measured_at: float
    hours: tuple[OpenHour, ...]


def read_spend(row: Mapping[str, Any] | None) -> Spend | None:
    """Return what a key's row tells; None where nothing limits what it spends."""
    if row is None:
        return None
    return Spend(
        left=row.get("left"),
        measured_at=float(row.get("measured_at", 0)),
        hours=tuple(
            OpenHour(
                place=Place(int(each["hour"]), each["deployment_id"]),
                money=float(each["money"]), tokens=int(each["tokens"]),
                key_tokens=int(each["key_tokens"]), key_money=float(each["key_money"]),
            )
            for each in row.get("hours") or ()
        ),
    )  # fmt: skip
