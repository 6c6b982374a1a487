"""Stops keys that have used up the money of their month, and lets them go on in the next.

Between two measurements gateways count on by themselves, from what is stored here.
"""

from datetime import datetime

from django.db import transaction

from apps.accounts.models import ApiKey
from apps.accounts.routes_version import routes_version_bump
from apps.deployments.usage.live_spend import FAR, live_spends
from apps.deployments.usage.spending import month_spend
from controlplane import clock


@transaction.atomic
def spend_limits_apply(*, now: datetime | None = None) -> int:
    """Return of how many keys gateways learn something, within a second."""
    now = now or clock.now()
    keys = list(ApiKey.objects.filter(revoked_at=None).exclude(monthly_spend=None).order_by("id"))
    if not keys:
        return 0
    spent = month_spend(key_ids=[key.id for key in keys], now=now)
    live = live_spends(keys=keys, spent=spent, now=now)
    changed: list[str] = []
    for key in keys:
        is_over = key.monthly_spend is not None and spent[key.id] >= key.monthly_spend
        until = _next_month(now) if is_over else None
        if (key.spent_until, key.live_spend or FAR) != (until, live[key.id]):
            ApiKey.objects.filter(id=key.id).update(spent_until=until, live_spend=live[key.id])
            changed.append(key.secret_sha256)
    if changed:
        routes_version_bump(keys=changed)
    return len(changed)


def _next_month(now: datetime) -> datetime:
    first = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    if first.month == 12:
        return first.replace(year=first.year + 1, month=1)
    return first.replace(month=first.month + 1)
