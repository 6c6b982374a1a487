"""What holds now becomes alerts, and alerts become messages, each once.

A condition must hold for `SETTLE` before anyone is told, and be gone for `CLEAR` before it counts
as over: what comes and goes meanwhile is one alert, and one message.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection, transaction

from apps.alerts.conditions.condition import Condition
from apps.alerts.conditions.finding import conditions_now
from apps.alerts.deliveries.writing import deliveries_write
from apps.alerts.models import Alert, AlertSweep, Event
from controlplane.clock import SYSTEM, Clock

SETTLE = timedelta(seconds=15)
CLEAR = timedelta(seconds=60)
_ADVISORY_LOCK = 7_020_005
_MUTABLE = ("sentence", "hint", "severity", "caused_by", "absent_since")


@dataclass(frozen=True, kw_only=True)
class Evaluated:
    fired: int = 0
    announced: int = 0
    resolved: int = 0


def alerts_evaluate(*, clock: Clock = SYSTEM) -> Evaluated:
    """Return what changed; nothing where another process is at it."""
    # Outside the transaction: disks are looked at too, and one of a server that is gone is slow.
    conditions, now = conditions_now(clock), clock.now()
    return _store(conditions, now)


@transaction.atomic
def _store(conditions: Mapping[str, Condition], now: datetime) -> Evaluated:
    if not _is_alone():
        return Evaluated()
    AlertSweep.objects.update_or_create(id=1, defaults={"looked_at": now})
    firing = {each.key: each for each in Alert.objects.filter(resolved_at=None)}
    fired = _fire([conditions[key] for key in conditions.keys() - firing.keys()], now)
    _follow(firing, conditions, now)
    everything = [*firing.values(), *fired]
    return Evaluated(
        fired=len(fired), announced=_announce(everything, now), resolved=_resolve(everything, now)
    )


def _is_alone() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [_ADVISORY_LOCK])
        return bool(cursor.fetchone()[0])


def _fire(conditions: Sequence[Condition], now: datetime) -> Sequence[Alert]:
    return Alert.objects.bulk_create([_alert(each, now) for each in conditions])


def _alert(condition: Condition, now: datetime) -> Alert:
    return Alert(
        team_id=condition.team_id,
        kind=condition.kind,
        subject=condition.subject,
        severity=condition.severity,
        sentence=condition.sentence,
        hint=condition.hint,
        path=condition.path,
        caused_by=condition.caused_by,
        began_at=condition.began_at or now,
        fired_at=now,
    )


def _follow(
    firing: Mapping[str, Alert], conditions: Mapping[str, Condition], now: datetime
) -> None:
    """Store new wording of alerts that fire, and which have ended."""
    changed = [alert for key, alert in firing.items() if _update(alert, conditions.get(key), now)]
    Alert.objects.bulk_update(changed, _MUTABLE, batch_size=500)


def _update(alert: Alert, condition: Condition | None, now: datetime) -> bool:
    before = [getattr(alert, each) for each in _MUTABLE]
    if condition is None:
        alert.absent_since = alert.absent_since or now
    else:
        alert.absent_since = None
        alert.sentence, alert.hint = condition.sentence, condition.hint
        alert.severity, alert.caused_by = condition.severity, condition.caused_by
    return before != [getattr(alert, each) for each in _MUTABLE]


def _announce(alerts: Collection[Alert], now: datetime) -> int:
    due = [each for each in alerts if _is_due(each, now)]
    firing = {each.key: each for each in alerts}
    deliveries_write(Event.FIRING, due, causes=firing)
    _stamp(due, "announced_at", now)
    return len(due)


def _is_due(alert: Alert, now: datetime) -> bool:
    has_settled = alert.fired_at <= now - SETTLE
    return alert.announced_at is None and alert.absent_since is None and has_settled


def _resolve(alerts: Collection[Alert], now: datetime) -> int:
    over = [each for each in alerts if each.absent_since and each.absent_since <= now - CLEAR]
    deliveries_write(Event.RESOLVED, [each for each in over if each.announced_at])
    _stamp(over, "resolved_at", now)
    return len(over)


def _stamp(alerts: Collection[Alert], column: str, now: datetime) -> None:
    Alert.objects.filter(id__in=[each.id for each in alerts]).update(**{column: now})
    for each in alerts:
        setattr(each, column, now)
