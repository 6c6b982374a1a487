"""What is wrong now, as a person wants to read it: since when, what was well until when, whither.

Read from what the sweep has stored, so that a page may ask every three seconds. What keeps the
sweep from storing anything is told beside it: a full database, and that nobody sweeps.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Case, Max, Q, QuerySet, Value, When, Window
from django.db.models.aggregates import Count
from django.db.models.functions import Coalesce

from apps.accounts.models import Team
from apps.alerts.conditions.machines import condition_of
from apps.alerts.conditions.troubles import troubles_here
from apps.alerts.kinds import LABELS
from apps.alerts.models import Alert, AlertSweep, Severity
from apps.alerts.selectors import alerts_firing
from apps.deployments.models import Replica
from controlplane.clock import SYSTEM, Clock
from controlplane.domain.alert_kinds import AlertKindName

UNSWEPT = timedelta(seconds=30)
"""After that long without a look, what is stored says nothing of now."""
_N = AlertKindName
_OF_DEPLOYMENTS = (
    _N.DEPLOYMENT_DOWN,
    _N.DEPLOYMENT_SHORT,
    _N.ERROR_SHARE,
    _N.FIRST_TOKEN,
    _N.KV_CACHE_FULL,
    _N.GPU_MEMORY,
    _N.LOOKAHEAD_HURTS,
)
_OF_BUILDS = (_N.BUILD_FAILED, _N.BUILD_WAITING)
_VERBS: Mapping[str, str] = {
    **dict.fromkeys(_OF_DEPLOYMENTS, "Open deployment"),
    **dict.fromkeys(_OF_BUILDS, "Open build"),
    _N.SECRET_EXPIRY: "Replace secret",
    _N.SPEND_LIMIT: "Raise limit",
    _N.NODE_SILENT: "Open node",
}


@dataclass(frozen=True, kw_only=True)
class Incident:
    label: str
    sentence: str
    severity: Severity
    since: datetime
    kind: str = ""
    hint: str = ""
    last_healthy_at: datetime | None = None
    """Until when it was well, where that is known."""
    path: str = ""
    """The page where it is mended."""
    is_shared: bool = True
    """Whether it is about what all teams share."""
    because: str = ""
    """What is behind it, where that is an incident too."""

    @property
    def verb(self) -> str:
        """What the button says that leads to `path`."""
        return _VERBS.get(self.kind, "Open")


@dataclass(frozen=True, kw_only=True)
class Incidents:
    """The worst of a team, and how many there are in all."""

    worst: Sequence[Incident]
    count: int


def incidents(*, team: Team, most: int, clock: Clock = SYSTEM) -> Incidents:
    """Return what is wrong for a team: the critical first, builds last, the oldest before newer."""
    rows = list(_stored(team)[:most])
    beside = list(_beside_the_stored({each.key for each in rows}, clock.now()))
    healthy, causes = _last_healthy(rows), _causes(rows)
    stored = [_incident(each, healthy.get(each.subject), causes) for each in rows]
    count = rows[0].count if rows else 0  # type: ignore[attr-defined]
    return Incidents(worst=[*beside, *stored][:most], count=count + len(beside))


def _stored(team: Team) -> QuerySet[Alert]:
    is_of_a_build = Case(When(kind__in=_OF_BUILDS, then=Value(1)), default=Value(0))
    is_mild = Case(When(severity=Severity.CRITICAL, then=Value(0)), default=Value(1))
    firing = alerts_firing(team=team).filter(absent_since=None)
    return firing.annotate(count=Window(Count("id"))).order_by(
        is_mild, is_of_a_build, "began_at", "id"
    )


def _beside_the_stored(known: Collection[str], now: datetime) -> Iterator[Incident]:
    for condition in map(condition_of, troubles_here()):
        if condition.key not in known:
            yield Incident(
                kind=condition.kind,
                label=LABELS[condition.kind],
                sentence=condition.sentence,
                severity=condition.severity,
                since=now,
                path=condition.path,
            )
    swept = AlertSweep.objects.filter(id=1, looked_at__lt=now - UNSWEPT).first()
    if swept is not None:
        yield _unswept(swept)


def _unswept(swept: AlertSweep) -> Incident:
    return Incident(
        label="Nobody looks",
        sentence="No control worker has looked for what is wrong since then: what stands here is "
        "as it was. Builds and deployments do not go on without one either.",
        hint="Start a control worker and the scheduler, as `manage.py up` and the compose file do, "
        "or look at their logs.",
        severity=Severity.CRITICAL,
        since=swept.looked_at,
    )


def _last_healthy(alerts: Collection[Alert]) -> Mapping[str, datetime]:
    """Return by deployment that is down when its last replica that had been ready was so."""
    down = [each.subject for each in alerts if each.kind == AlertKindName.DEPLOYMENT_DOWN]
    if not down:
        return {}
    were_ready = Replica.objects.filter(deployment_id__in=down, ready_at__isnull=False)
    ended = Max(Coalesce("finished_at", "observed_at", "ready_at"))
    return dict(were_ready.values_list("deployment_id").annotate(ended=ended).order_by())


def _causes(alerts: Collection[Alert]) -> Mapping[str, str]:
    """Return by key what is behind them, in a sentence."""
    keys = {each.caused_by.partition(":")[::2] for each in alerts if each.caused_by}
    if not keys:
        return {}
    of_them = Q(*(Q(kind=kind, subject=subject) for kind, subject in keys), _connector=Q.OR)
    causes = Alert.objects.filter(of_them, resolved_at=None, absent_since=None)
    return {each.key: each.sentence for each in causes}


def _incident(alert: Alert, healthy: datetime | None, causes: Mapping[str, str]) -> Incident:
    return Incident(
        kind=alert.kind,
        label=alert.label,
        sentence=alert.sentence,
        hint=alert.hint,
        severity=Severity(alert.severity),
        since=alert.began_at,
        last_healthy_at=healthy,
        path=alert.path,
        is_shared=alert.team_id is None,
        because=causes.get(alert.caused_by, ""),
    )
