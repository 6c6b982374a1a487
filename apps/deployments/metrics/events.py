from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from apps.deployments.models import Deployment, EnvironmentSwitch
from apps.ui.formats import first_sentence

MOST = 30
_MADE, _MOVED, _LOST = "made", "moved", "lost"


@dataclass(frozen=True, kw_only=True, order=True)
class Event:
    at: int
    """In seconds since the epoch."""
    kind: str
    """`made`, `moved` or `lost`."""
    words: str

    def to_json(self) -> dict[str, str | int]:
        return {"at": self.at, "kind": self.kind, "words": self.words}


def events_of(deployment: Deployment, start: datetime, end: datetime) -> list[Event]:
    """Return the latest in the order of their times: made, promoted or left, replicas lost."""
    events = [*_made(deployment, start, end), *_moves(deployment, start, end)]
    return sorted([*events, *_losses(deployment, start, end)])[-MOST:]


def _made(deployment: Deployment, start: datetime, end: datetime) -> list[Event]:
    at = deployment.created_at
    return [_event(at, _MADE, f"{deployment.name} deployed")] if start <= at < end else []


def _moves(deployment: Deployment, start: datetime, end: datetime) -> list[Event]:
    here = deployment.switches.values("environment")
    rows = EnvironmentSwitch.objects.filter(
        Q(environment__in=here), Q(at__gte=start), Q(at__lt=end)
    ).order_by("-id")
    moves = rows.values_list("at", "environment__name", "deployment_id", "deployment__name")[:MOST]
    return [
        _event(
            at,
            _MOVED,
            f"{place} points here" if id == deployment.id else f"{place} moved to {name}",
        )
        for at, place, id, name in moves
    ]


def _losses(deployment: Deployment, start: datetime, end: datetime) -> list[Event]:
    ended = deployment.replicas.filter(
        finished_at__gte=start, finished_at__lt=end, failure__isnull=False
    ).order_by("-finished_at")
    return [
        _event(at, _LOST, f"Replica {id} lost: {first_sentence(failure.get('sentence', ''))}")
        for id, at, failure in ended.values_list("id", "finished_at", "failure")[:MOST]
        if at is not None and failure is not None
    ]


def _event(at: datetime, kind: str, words: str) -> Event:
    return Event(at=int(at.timestamp()), kind=kind, words=words.replace("`", ""))
