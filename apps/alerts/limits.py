"""From where on a team's traffic or cost is an alert."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from django.db import transaction

from apps.accounts.audit.recording import audit
from apps.accounts.models import Team
from apps.alerts.models import AlertLimits


@dataclass(frozen=True, kw_only=True)
class Limits:
    """As they are until a team says otherwise; None: not watched."""

    error_share_percent: float | None = 5.0
    first_token_seconds: float | None = None
    monthly_budget: Decimal | None = None


def limits_of(*, team: Team) -> Limits:
    return limits_by_team(team_id=team.id).get(team.id, Limits())


def limits_by_team(**which: str) -> Mapping[str, Limits]:
    rows = AlertLimits.objects.filter(**which)
    return {row.team_id: _limits(row) for row in rows}


@transaction.atomic
def limits_set(*, team: Team, **changes: float | Decimal | None) -> Limits:
    before = limits_of(team=team)
    row, _ = AlertLimits.objects.update_or_create(team=team, defaults=changes)
    after = _limits(row)
    audit("alert_limits.set", team, team=team, before=_audited(before), after=_audited(after))
    return after


def _audited(limits: Limits) -> dict[str, float | str | None]:
    budget = limits.monthly_budget
    return {**vars(limits), "monthly_budget": None if budget is None else str(budget)}


def _limits(row: AlertLimits) -> Limits:
    return Limits(
        error_share_percent=row.error_share_percent,
        first_token_seconds=row.first_token_seconds,
        monthly_budget=row.monthly_budget,
    )
