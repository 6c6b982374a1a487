"""What gateways go by to count the spend of a key on, between two measurements of its month.

Usage of the hour that runs and of the one before may not have come in whole. Their money, tokens
and GPUs' costs go to the gateways, who add the tokens that they count themselves.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from apps.accounts.models import ApiKey
from apps.deployments.usage.spending import (
    Called,
    Hour,
    HourCost,
    called_by_hour,
    costs_by_hour,
    shares_of,
)

NEAR_SECONDS = 600
"""A key is near its limit where so long a time of all of its team's GPUs could take it there."""
FAR: Mapping[str, Any] = {"left": None}


def live_spends(
    *, keys: Sequence[ApiKey], spent: Mapping[str, Decimal], now: datetime
) -> dict[str, dict[str, Any]]:
    """Return by key what is left of its month beside the hours that are open, and these hours."""
    begin = _first_open_hour(now)
    called, costs = called_by_hour(begin, now, None), costs_by_hour(begin, now, None)
    return {key.id: _live_spend(key, spent[key.id], called, costs, now) for key in keys}


def _first_open_hour(now: datetime) -> datetime:
    hour = now.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    before = hour - timedelta(hours=1)
    return before if before.month == hour.month else hour


def _live_spend(
    key: ApiKey,
    spent: Decimal,
    called: Mapping[Hour, list[Called]],
    costs: Mapping[Hour, HourCost],
    now: datetime,
) -> dict[str, Any]:
    hours = [
        _open_hour(key, place, called.get(place, ()), cost)
        for place, cost in sorted(costs.items())
        if cost.team_id == key.team_id
    ]
    settled = spent - sum((each["key_money"] for each in hours), Decimal(0))
    left = (key.monthly_spend or Decimal(0)) - settled
    if left > sum(each["money"] for each in hours) + _to_come(hours, now):
        return dict(FAR)
    rows = [each | {"money": float(each["money"]), "key_money": float(each["key_money"])}
            for each in hours]  # fmt: skip
    return {"left": float(left), "measured_at": now.timestamp(), "hours": rows}


def _open_hour(
    key: ApiKey, place: Hour, called: Sequence[Called], cost: HourCost
) -> dict[str, Any]:
    hour, deployment_id = place
    shares = shares_of(cost.money, called)
    return {
        "hour": int(hour.timestamp()),
        "deployment_id": deployment_id,
        "money": cost.money,
        "tokens": sum(each.tokens for each in called),
        "key_tokens": sum(each.tokens for each in called if each.key_id == key.id),
        "key_money": shares.get(key.id, Decimal(0)),
    }


def _to_come(hours: Sequence[Mapping[str, Any]], now: datetime) -> Decimal:
    """Return what the team's GPUs cost until the next measurements, as they do in this hour."""
    this = int(now.timestamp()) // 3600 * 3600
    passed = max(60, int(now.timestamp()) - this)
    money = sum((each["money"] for each in hours if each["hour"] == this), Decimal(0))
    return money * NEAR_SECONDS / passed
