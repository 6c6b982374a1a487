"""What teams with a budget have spent in the month, measured each minute: it adds up hours."""

from datetime import date
from decimal import Decimal

from apps.alerts.models import AlertLimits
from apps.deployments.usage.spending import month_cost
from controlplane.clock import SYSTEM, Clock


def budgets_measure(*, clock: Clock = SYSTEM) -> int:
    """Return how many teams have a budget; what they have spent is stored beside it."""
    now = clock.now()
    rows = list(AlertLimits.objects.exclude(monthly_budget=None).order_by("team_id"))
    for row in rows:
        row.spent, row.spent_month = month_cost(team_id=row.team_id, now=now), month_of(now.date())
    AlertLimits.objects.bulk_update(rows, ["spent", "spent_month"])
    return len(rows)


def month_of(day: date) -> date:
    return day.replace(day=1)


def spent_in(row: AlertLimits, month: date) -> Decimal:
    """Return what was measured of that month; 0 where it has only begun."""
    return row.spent if row.spent_month == month else Decimal(0)
