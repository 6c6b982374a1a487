"""Time as the database has it, moved by the test."""

from datetime import datetime, timedelta

from apps.fleet.models import Gateway, Node, Worker
from apps.fleet.services.listening import listening_beat
from controlplane import clock

_STRIDE_SECONDS = 2
"""Between two beats, which may come this late: each is a large statement to compile."""


class Listener:
    """Web processes that listen, and machines that speak, at moments of the test's own."""

    def __init__(self) -> None:
        self.now: datetime = clock.now()

    def listen(self, seconds: int, *, while_speak: tuple[str, ...] = ()) -> None:
        """Listen for so many seconds, in which the named machines and workers speak."""
        self.beat()
        for begun in range(0, seconds, _STRIDE_SECONDS):
            self.pass_seconds(min(_STRIDE_SECONDS, seconds - begun))
            self.hear(*while_speak)
            self.beat()

    def beat(self) -> None:
        """Have a web process say that it listens."""
        listening_beat(now=self.now)

    def pass_seconds(self, seconds: float) -> None:
        """Let so many seconds pass, in which nobody says anything."""
        self.now += timedelta(seconds=seconds)

    def hear(self, *names: str) -> None:
        """Have these nodes, gateways and workers speak now."""
        Node.objects.filter(name__in=names).update(last_heartbeat_at=self.now)
        Gateway.objects.filter(name__in=names).update(last_seen_at=self.now)
        Worker.objects.filter(name__in=names).update(last_seen_at=self.now)
