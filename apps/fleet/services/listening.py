"""That somebody listens: web processes say so each second, and silence is judged by it alone.

A machine that was not heard while nobody listened may have spoken all the time. So a silence counts
only where it lies wholly in one stretch of listening; a gap in the beats, a clock of the database
that jumped, and a time in which no machine at all was heard each begin a new one. What was judged
stays judged until the machine is heard again. Holders of leases speak to the database alone: they
are judged by stretches in which that could be asked, whether or not a machine was heard.
"""

from datetime import timedelta
from typing import Any

from django.db.models import Case, DateTimeField, Exists, F, Q, QuerySet, Value, When
from django.db.models.functions import Coalesce, Now

from apps.fleet.models import Gateway, Listening, Node
from apps.fleet.selectors import LONGEST_GAP, SILENT, gateways_live, nodes_alive

BEAT_SECONDS = 1.0
Moment = Now | Value
_HEARS = timedelta(seconds=9)
"""Three reports of an agent, and less than a silence."""


def listening_beat(*, now: Moment | None = None) -> None:
    """Say that machines are listened to at this moment of the database's clock."""
    now = now or Now()
    if not _row().exists():
        first = Listening(since=now, unbroken_since=now, last_beat_at=now)
        Listening.objects.bulk_create([first], ignore_conflicts=True)
        return
    follows = _follows_the_last(now)
    goes_on = follows & _hears_somebody(now)
    _row().update(
        unbroken_since=_when(follows, Coalesce("unbroken_since", now), otherwise=now),
        since=_when(goes_on, F("since"), otherwise=now),
        last_beat_at=now,
        silent_before=Case(
            When(goes_on & Q(since__lte=now - SILENT), then=now - SILENT),
            # The database's clock went back: what it said before would be true for too long.
            When(silent_before__gt=now, then=now - SILENT),
            default=F("silent_before"),
            output_field=DateTimeField(),
        ),
    )


def _row() -> QuerySet[Listening]:
    return Listening.objects.filter(id=1)


def _follows_the_last(now: Moment) -> Q:
    # Beats of several processes may overtake each other by less than that.
    return Q(last_beat_at__gte=now - LONGEST_GAP, last_beat_at__lte=now + LONGEST_GAP)


def _hears_somebody(now: Moment) -> Q:
    """Return whether any machine was heard lately, or there is none to hear.

    Where all fell silent at once, it is more likely that nobody can reach the listener.
    """
    lately = now - _HEARS
    nodes = Node.objects.filter(last_heartbeat_at__gt=lately, removed_at=None)
    gateways = Gateway.objects.filter(last_seen_at__gt=lately)
    there_is_none = ~Exists(nodes_alive()) & ~Exists(gateways_live())
    return Q(Exists(nodes)) | Q(Exists(gateways)) | there_is_none


def _when(condition: Q, then: Any, *, otherwise: Any) -> Case:
    return Case(When(condition, then=then), default=otherwise, output_field=DateTimeField())
