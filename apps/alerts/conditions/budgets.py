"""Teams whose month costs what they meant it to cost, or nearly."""

from collections.abc import Iterator
from decimal import Decimal

from django.urls import reverse

from apps.alerts.budgets import month_of, spent_in
from apps.alerts.conditions.condition import Condition
from apps.alerts.models import AlertLimits, Severity
from apps.ui.formats import percent
from controlplane.clock import Clock
from controlplane.domain.alert_kinds import AlertKindName

NEAR_SHARE = Decimal("0.8")


def budget_conditions(clock: Clock) -> Iterator[Condition]:
    """Give the teams that have spent 80 % of their budget, or all of it."""
    month = month_of(clock.now().date())
    for row in AlertLimits.objects.exclude(monthly_budget=None).order_by("team_id"):
        budget, spent = row.monthly_budget or Decimal(0), spent_in(row, month)
        if spent >= budget * NEAR_SHARE and spent:
            yield _condition(row, budget, spent, f"{month:%Y-%m}")


def _condition(row: AlertLimits, budget: Decimal, spent: Decimal, month: str) -> Condition:
    is_over = spent >= budget
    share = f", {percent(float(spent / budget))} of it" if budget else ""
    return Condition(
        kind=AlertKindName.BUDGET,
        subject=row.team_id,
        team_id=row.team_id,
        severity=Severity.CRITICAL if is_over else Severity.WARNING,
        sentence=f"The team's GPUs have cost {spent:.2f} in {month}{share}; the budget of a month "
        f"is {budget:.2f}.",
        hint="Nothing is stopped by it. Scale down or deactivate deployments, give API keys a "
        "monthly limit, or raise the budget.",
        path=reverse("usage"),
    )
