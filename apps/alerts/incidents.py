"""What is wrong now, as a person wants to read it: since when, what was well until when, whither.

Looked for at once, beside what the sweep has stored: a page tells of a fault as soon as its rows
do, and of its end likewise. What takes sums over many rows is as old as the sweep.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Max
from django.db.models.functions import Coalesce

from apps.accounts.models import Team
from apps.alerts.conditions.condition import Condition
from apps.alerts.conditions.finding import QUICK, conditions_now
from apps.alerts.kinds import LABELS
from apps.alerts.models import Alert, Severity
from apps.alerts.selectors import alerts_firing
from apps.deployments.models import Replica
from controlplane.clock import SYSTEM, Clock
from controlplane.domain.alert_kinds import AlertKindName

_N = AlertKindName
_BY_SWEEP = frozenset({_N.ERROR_SHARE, _N.FIRST_TOKEN, _N.KV_CACHE_FULL, _N.GPU_MEMORY})
"""Of what takes sums over rows to know."""
_OF_DEPLOYMENTS = frozenset({_N.DEPLOYMENT_DOWN, _N.DEPLOYMENT_SHORT})
_OF_BUILDS = frozenset({_N.BUILD_FAILED, _N.BUILD_WAITING})
_VERBS: Mapping[str, str] = {
    **dict.fromkeys(_OF_DEPLOYMENTS | _BY_SWEEP, "Open deployment"),
    **dict.fromkeys(_OF_BUILDS, "Open build"),
    _N.SECRET_EXPIRY: "Replace secret",
    _N.SPEND_LIMIT: "Raise limit",
    _N.NODE_SILENT: "Open nodes",
}


@dataclass(frozen=True, kw_only=True)
class Incident:
    """One cause."""

    kind: str
    sentence: str
    hint: str
    severity: Severity
    since: datetime
    last_healthy_at: datetime | None
    """Until when it was well, where that is known."""
    path: str
    """The page where it is mended."""
    is_shared: bool
    """Whether it is about what all teams share."""
    because: str = ""
    """What is behind it, where that is an incident too."""

    @property
    def label(self) -> str:
        return LABELS.get(self.kind, self.kind)

    @property
    def verb(self) -> str:
        """What the button says that leads to `path`."""
        return _VERBS.get(self.kind, "Open")


def incidents(*, team: Team, clock: Clock = SYSTEM) -> Sequence[Incident]:
    """Return what is wrong for a team: the critical first, builds last, the oldest before newer."""
    stored = {each.key: each for each in alerts_firing(team=team)}
    seen = [*_seen(team, clock), *_by_sweep(stored.values())]
    healthy = _last_healthy({each.subject for each in seen if each.kind in _OF_DEPLOYMENTS})
    words, now = {each.key: each.sentence for each in seen}, clock.now()
    found = [_incident(each, stored.get(each.key), healthy, words, now) for each in seen]
    return sorted(found, key=_weight)


def _weight(incident: Incident) -> tuple[bool, bool, datetime]:
    is_critical = incident.severity == Severity.CRITICAL
    return not is_critical, incident.kind in _OF_BUILDS, incident.since


def _seen(team: Team, clock: Clock) -> Iterator[Condition]:
    found = conditions_now(clock, families=QUICK)
    return (each for each in found.values() if each.team_id in (None, team.id))


def _by_sweep(stored: Collection[Alert]) -> Iterator[Condition]:
    for alert in stored:
        if alert.kind in _BY_SWEEP and alert.absent_since is None:
            yield Condition(
                kind=AlertKindName(alert.kind),
                subject=alert.subject,
                team_id=alert.team_id,
                sentence=alert.sentence,
                severity=Severity(alert.severity),
                hint=alert.hint,
                path=alert.path,
                began_at=alert.began_at,
            )


def _last_healthy(deployment_ids: Collection[str]) -> Mapping[str, datetime]:
    """Return by deployment when its last replica that had been ready was so."""
    were_ready = Replica.objects.filter(deployment_id__in=deployment_ids, ready_at__isnull=False)
    ended = Max(Coalesce("finished_at", "observed_at", "ready_at"))
    return dict(were_ready.values_list("deployment_id").annotate(ended=ended).order_by())


def _incident(
    found: Condition,
    alert: Alert | None,
    healthy: Mapping[str, datetime],
    sentences: Mapping[str, str],
    now: datetime,
) -> Incident:
    since = found.began_at or (alert.began_at if alert else now)
    is_down = found.kind == AlertKindName.DEPLOYMENT_DOWN
    return Incident(
        kind=found.kind,
        sentence=found.sentence,
        hint=found.hint,
        severity=found.severity,
        since=since,
        last_healthy_at=healthy.get(found.subject) if is_down else None,
        path=found.path,
        is_shared=found.team_id is None,
        because=sentences.get(found.caused_by, ""),
    )
