"""Time as the database has it, which no test moves: what is stored becomes older instead."""

from datetime import timedelta

from django.db.models import F
from django.db.models.functions import Now

from apps.fleet.models import Gateway, Listening, Node, Worker
from apps.fleet.services import listening_beat

_MOMENTS = (
    (Node, ("last_heartbeat_at",)),
    (Gateway, ("last_seen_at",)),
    (Worker, ("last_seen_at",)),
    (Listening, ("since", "last_beat_at", "silent_before")),
)


def pass_seconds(seconds: float) -> None:
    """Let so many seconds pass, in which nobody says anything."""
    for model, fields in _MOMENTS:
        older = {field: F(field) - timedelta(seconds=seconds) for field in fields}
        model._default_manager.update(**older)


def listen(seconds: int, *, while_speak: tuple[str, ...] = ()) -> None:
    """Listen for so many seconds, in which the named nodes and gateways speak."""
    listening_beat()
    for _ in range(seconds):
        pass_seconds(1)
        say(*while_speak)
        listening_beat()


def say(*names: str) -> None:
    """Have these nodes and gateways speak now."""
    Node.objects.filter(name__in=names).update(last_heartbeat_at=Now())
    Gateway.objects.filter(name__in=names).update(last_seen_at=Now())
