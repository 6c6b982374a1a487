"""That someone listens: web processes say so each second, and silence is judged by it alone.

A machine that was not heard while nobody listened may have spoken all the time. So a silence counts
only where it lies wholly in one stretch of listening; a gap in the beats, a clock of the database
that jumped, and a time in which no machine at all was heard each begin a new one. What was judged
stays judged until the machine is heard again. Holders of leases speak to the database alone: they
are judged by stretches in which that could be asked, whether or not a machine was heard.
"""

from datetime import datetime, timedelta

from django.db.models import Case, DateTimeField, Exists, F, Func, Q, Value, When
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce

from apps.fleet.models import Gateway, Listening, Node
from apps.fleet.selectors import LONGEST_GAP, SILENT, gateways_live, nodes_alive

BEAT_SECONDS = 1.0
_HEARS = timedelta(seconds=9)
"""Three reports of an agent, and less than a silence."""
_ROW = 1


def listening_beat(*, now: datetime | None = None) -> None:
    """Say that machines are listened to at this moment of the database's clock.

    As one statement, since every web process says so each second.
    """
    moment: Combinable = _StatementTimestamp() if now is None else _given(now)
    if not Listening.objects.filter(id=_ROW).update(**_beat(moment), last_beat_at=moment):
        first = Listening(id=_ROW, since=moment, unbroken_since=moment, last_beat_at=moment)
        Listening.objects.bulk_create([first], ignore_conflicts=True)


def _beat(moment: Combinable) -> dict[str, Case]:
    follows, someone = _follows(moment), _is_any_recent(moment)
    settled = follows & someone & Q(since__lte=moment - SILENT)
    # One that lies ahead is of a clock that went back since: it would be true for too long.
    is_ahead = Q(silent_before__gt=moment)
    return {
        "unbroken_since": Case(
            When(follows, then=Coalesce("unbroken_since", moment)), default=moment
        ),
        "since": Case(When(follows & someone, then=F("since")), default=moment),
        "silent_before": Case(
            When(settled | is_ahead, then=moment - SILENT), default=F("silent_before")
        ),
    }


def _follows(moment: Combinable) -> Q:
    """Return whether a beat comes after the last one.

    Those of several processes may overtake each other by less than a gap.
    """
    return Q(last_beat_at__range=(moment - LONGEST_GAP, moment + LONGEST_GAP))


def _is_any_recent(moment: Combinable) -> Q:
    """Return whether any machine was heard lately, or there is none to hear.

    Where all fell silent at once, it is more likely that nobody can reach the listener.
    """
    lately = moment - _HEARS
    nodes = Node.objects.filter(last_heartbeat_at__gt=lately, removed_at=None)
    gateways = Gateway.objects.filter(last_seen_at__gt=lately)
    nobody_to_hear = ~Exists(nodes_alive()) & ~Exists(gateways_live())
    return Q(Exists(nodes)) | Q(Exists(gateways)) | Q(nobody_to_hear)


def _given(now: datetime) -> Value:
    return Value(now, output_field=DateTimeField())


class _StatementTimestamp(Func):
    """The one moment that all of a statement sees."""

    function = "statement_timestamp"
    arity = 0
    output_field = DateTimeField()
