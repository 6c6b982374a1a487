"""What was used and what it cost, by day and by key, team or model.

An hour of a deployment costs its GPU seconds at the price that held in that hour. The keys that
called it in that hour share the money by their tokens, by their requests where nothing counted
tokens; an hour that nobody called belongs to no key.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import StrEnum

from django.db.models import Sum
from django.db.models.functions import TruncHour

from apps.accounts.models import ApiKey, Team
from apps.deployments.models import ServedModel
from apps.fleet.models import DevicePrice
from apps.telemetry.models import DeviceHour, UsageMinute

_SECONDS_PER_HOUR = Decimal(3600)
_SUMMED = ("requests", "extra_route_requests", "prompt_tokens", "completion_tokens")
Hour = tuple[datetime, str]


class Grouping(StrEnum):
    KEY = "key"
    TEAM = "team"
    MODEL = "model"


@dataclass(kw_only=True)
class UsageLine:
    """One day of one key, team or model; `id` is blank for what no key caused."""

    day: date
    id: str
    name: str = ""
    requests: int = 0
    extra_route_requests: int = 0
    """Of them, those on routes that a config opened by name, whose tokens nothing counted."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    money: Decimal = Decimal(0)


@dataclass(kw_only=True)
class Called:
    key_id: str
    model_id: str
    team_id: str
    requests: int
    extra_route_requests: int
    prompt_tokens: int
    completion_tokens: int

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


@dataclass(kw_only=True)
class HourCost:
    model_id: str
    team_id: str
    money: Decimal = field(default=Decimal(0))


def usage_lines(
    *, group_by: Grouping, since: date, until: date, team_id: str | None = None
) -> list[UsageLine]:
    """Return the days from `since` to `until`, both included, of a team or of everybody."""
    begin = datetime.combine(since, time(), UTC)
    end = datetime.combine(until + timedelta(days=1), time(), UTC)
    lines: dict[tuple[date, str], UsageLine] = {}
    called, costs = called_by_hour(begin, end, team_id), costs_by_hour(begin, end, team_id)
    for place in sorted({*called, *costs}):
        _add_hour(lines, group_by, place[0].date(), called.get(place, []), costs.get(place))
    names = _names(group_by, {id for _, id in lines})
    for line in lines.values():
        line.name = names.get(line.id, line.id or "nobody called")
    return sorted(lines.values(), key=lambda line: (line.day, line.name, line.id))


def month_spend(*, key_ids: Sequence[str], now: datetime) -> dict[str, Decimal]:
    """Return what each key has spent since the month began, in UTC."""
    spent: dict[str, Decimal] = defaultdict(Decimal)
    day = now.astimezone(UTC).date()
    for line in usage_lines(group_by=Grouping.KEY, since=day.replace(day=1), until=day):
        spent[line.id] += line.money
    return {key_id: spent[key_id] for key_id in key_ids}


def month_cost(*, team_id: str, now: datetime) -> Decimal:
    """Return what the team's GPUs have cost since the month began, in UTC."""
    first = now.astimezone(UTC).date().replace(day=1)
    begin = datetime.combine(first, time(), UTC)
    hours = DeviceHour.objects.filter(team_id=team_id, hour__gte=begin, hour__lte=now)
    prices = _prices()
    rows = hours.order_by().values_list("kind", "hour").annotate(Sum("seconds"))
    return sum(
        (_cost(seconds, _price_at(prices.get(kind, []), hour)) for kind, hour, seconds in rows),
        Decimal(0),
    )


def _add_hour(
    lines: dict[tuple[date, str], UsageLine],
    group_by: Grouping,
    day: date,
    called: Sequence[Called],
    cost: HourCost | None,
) -> None:
    for each in called:
        line = _line(lines, day, _group(group_by, each.key_id, each))
        line.requests += each.requests
        line.extra_route_requests += each.extra_route_requests
        line.prompt_tokens += each.prompt_tokens
        line.completion_tokens += each.completion_tokens
    if cost is None:
        return
    for key_id, money in shares_of(cost.money, called).items():
        _line(lines, day, _group(group_by, key_id, cost)).money += money


def _line(lines: dict[tuple[date, str], UsageLine], day: date, id: str) -> UsageLine:
    return lines.setdefault((day, id), UsageLine(day=day, id=id))


def _group(group_by: Grouping, key_id: str, owner: Called | HourCost) -> str:
    if group_by is Grouping.KEY:
        return key_id
    return owner.team_id if group_by is Grouping.TEAM else owner.model_id


def shares_of(money: Decimal, called: Sequence[Called]) -> dict[str, Decimal]:
    """Return each key's part; the last one takes what division leaves, so that nothing is lost."""
    weights = {each.key_id: each.tokens for each in called}
    if not any(weights.values()):
        weights = {each.key_id: each.requests for each in called}
    total = sum(weights.values())
    if not total:
        return {"": money}
    parts = {key_id: money * weight / total for key_id, weight in weights.items()}
    last = max(parts, key=lambda key_id: (weights[key_id], key_id))
    parts[last] += money - sum(parts.values())
    return parts


def called_by_hour(begin: datetime, end: datetime, team_id: str | None) -> dict[Hour, list[Called]]:
    teams = dict(ApiKey.objects.values_list("id", "team_id"))
    # A benchmark is nobody's spend: what it took falls to those who called beside it, or to nobody.
    minutes = UsageMinute.objects.filter(minute__gte=begin, minute__lt=end, traffic_mark="")
    if team_id is not None:
        minutes = minutes.filter(key_id__in=[id for id, team in teams.items() if team == team_id])
    rows = (
        minutes.annotate(hour=TruncHour("minute", tzinfo=UTC))
        .values_list("hour", "deployment_id", "model_id", "key_id")
        .annotate(*map(Sum, _SUMMED))
        .order_by("hour", "deployment_id", "key_id")
    )
    calls: dict[Hour, list[Called]] = defaultdict(list)
    for hour, deployment_id, model_id, key_id, *sums in rows:
        called = Called(
            key_id=key_id,
            model_id=model_id,
            team_id=teams.get(key_id, ""),
            **dict(zip(_SUMMED, sums, strict=True)),
        )
        calls[hour, deployment_id].append(called)
    return calls


def costs_by_hour(begin: datetime, end: datetime, team_id: str | None) -> dict[Hour, HourCost]:
    prices = _prices()
    hours = DeviceHour.objects.filter(hour__gte=begin, hour__lt=end)
    if team_id is not None:
        hours = hours.filter(team_id=team_id)
    costs: dict[Hour, HourCost] = {}
    for row in hours:
        cost = costs.setdefault(
            (row.hour, row.deployment_id), HourCost(model_id=row.model_id, team_id=row.team_id)
        )
        price = _price_at(prices.get(row.kind, []), row.hour)
        cost.money += _cost(row.seconds, price)
    return costs


def _cost(seconds: float, price_per_hour: Decimal) -> Decimal:
    return Decimal(str(seconds)) * price_per_hour / _SECONDS_PER_HOUR


def _prices() -> Mapping[str, list[tuple[datetime, Decimal]]]:
    prices: dict[str, list[tuple[datetime, Decimal]]] = defaultdict(list)
    for price in DevicePrice.objects.order_by("since", "id"):
        prices[price.kind].append((price.since, price.per_hour))
    return prices


def _price_at(history: Sequence[tuple[datetime, Decimal]], hour: datetime) -> Decimal:
    """Return the price that held in the hour; 0 before the first one was set."""
    position = bisect_right([since for since, _ in history], hour)
    return history[position - 1][1] if position else Decimal(0)


def _names(group_by: Grouping, ids: set[str]) -> dict[str, str]:
    if group_by is Grouping.KEY:
        keys = ApiKey.objects.filter(id__in=ids)
        return {key.id: f"{key.prefix} {key.name}".strip() for key in keys}
    owners = Team if group_by is Grouping.TEAM else ServedModel
    return dict(owners._default_manager.filter(id__in=ids).values_list("id", "name"))
