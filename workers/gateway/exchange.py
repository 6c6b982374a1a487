"""One request on its way: pick a replica, send, splice the answer back, meter, let go."""

import asyncio

from workers.gateway import refusals
from workers.gateway.choice.chooser import Choice
from workers.gateway.containment import contains
from workers.gateway.engine_head import engine_head
from workers.gateway.event_stream import EndlessEvent
from workers.gateway.exchange_end import EndingExchange
from workers.gateway.headers import Header
from workers.gateway.hold.hold import Hold
from workers.gateway.hold.time_limits import lateness
from workers.gateway.phase import Phase
from workers.gateway.refusals import Refused
from workers.gateway.reply import Reply, status_of_leaving
from workers.gateway.traffic_samples.sampled_reply import SampledReply
from workers.gateway.upstream import Upstream, UpstreamConnection
from workers.gateway.usage import TokenCounts
from workers.gateway.usage_record import RecordState

RUNNING_RECORD_SECONDS = 1.0
_STOPPED = frozenset({"reset", "unheard"})
"""How a connection ends whose engine ended: what it had may have run in part."""


@contains(
    "start", "routes_changed", "your_turn", "tick", "cut_off", "client_left", "client_is_full",
    "client_has_room", "connected", "connect_failed", "answer_begins", "answer_ends",
    "answer_failed",
)  # fmt: skip
class Exchange(EndingExchange):
    __slots__ = ()

    def start(self) -> None:
        self._meter.opened()
        self._ledger.retries.request()
        self._dispatch()

    # What the gateway says.

    def routes_changed(self) -> None:
        """Try again: the replica that was going away has perhaps been replaced."""
        if self._phase is Phase.WAITING and self._connects is None:
            self._tried.clear()
            self._dispatch_anew()

    def your_turn(self) -> None:
        """Go on: a replica has room, and nobody is before it."""
        if self._phase is Phase.WAITING and self._connects is None:
            self._dispatch()

    def tick(self, now: float) -> None:
        """Once a second: write down that it runs, and end it when it takes too long."""
        if self._is_past_deadline(now):
            was_asked = self._phase is not Phase.WAITING
            self._give_up("deadline", refusals.deadline_passed(was_asked=was_asked))
        elif self._hold is not None and (refusal := self._hold.lateness(now)) is not None:
            self._refuse(refusal)
        elif self._connection is not None and self._connection.is_dark:
            self._give_up("dark", refusals.ENGINE_FAILED)
        elif late := self._overdue(now):
            self._give_up("timeout", refusals.timed_out(late))
        elif now - self._meter.started_at > RUNNING_RECORD_SECONDS:
            self._ledger.record(self.line(RecordState.RUNNING, now))

    def cut_off(self) -> None:
        """End it because the gateway stops."""
        self._give_up("shutdown", refusals.SHUTTING_DOWN)

    # What the client says.

    def client_left(self) -> None:
        """Close the engine's connection at once: it stops generating for nobody."""
        if self._phase is not Phase.ENDED:
            self._end(status_of_leaving(self._reply, took_all=not self._client_is_full))

    def client_is_full(self) -> None:
        self._client_is_full = True
        if self._connection is not None:
            self._connection.pause()

    def client_has_room(self) -> None:
        self._client_is_full = False
        self._last_moved_at = self._clock.monotonic()
        if self._connection is not None:
            self._connection.resume()

    # What the engine says.

    def connected(self, connection: UpstreamConnection) -> None:
        self._connects = None
        self._was_unheard = True  # only one that was idle can have been closed meanwhile
        if self._phase is Phase.WAITING and self._upstream is not None:
            self._ask(self._upstream, connection)
        else:
            connection.close()

    def connect_failed(self, reason: str) -> None:
        self._connects = None
        if self._phase is Phase.WAITING:
            self._try_another(reason)

    def answer_begins(self, status: int, headers: list[Header]) -> None:
        if status in (429, 503) and self._tries_another_instead(status):
            return
        self._phase = Phase.ANSWERING
        self._meter.status = status
        closes = not self.request.keep_alive or self._ledger.is_draining
        make = Reply if self.consent is None else SampledReply
        self._reply = make(
            status, headers, self.request, self.admission, self._prepared, self._meter.request_id,
            closes,
        )  # fmt: skip

    def answer_continues(self, data: bytes) -> None:
        # Of every chunk, a call more is a good part of the cost: it contains itself, and sends.
        if (reply := self._reply) is None:
            return
        try:
            meter = self._meter
            if meter.first_byte_at is None:
                meter.received(data)
            if ready := reply.feed(data):
                self._last_moved_at = self._clock.monotonic()
                meter.response_bytes += len(ready)
                self._client.write(ready)
        except EndlessEvent:
            self._engine_failed("endless_event")
        except Exception as error:
            self.internal_error(error)

    def answer_ends(self, data: bytes) -> None:
        self._connection = None
        if (reply := self._reply) is None or not self._takes_last(reply, data):
            return
        if reply.was_cut and self._prepared.ends_with_done:
            self._engine_failed("cut_stream")
            return
        if last := reply.end():
            self._send(last)
        if self._upstream is not None:
            self._upstream.health.ended(reply.status)
        self._end(reply.status)
        self._client.answered(keep_alive=not reply.closes)

    def answer_failed(self, reason: str, data: bytes) -> None:
        self._connection = None
        if self._reply is not None and not self._takes_last(self._reply, data):
            return
        if self._reply is None and reason == "unheard" and not self._was_unheard:
            # The engine closed an idle connection while we took it: the request never ran.
            self._was_unheard, self._phase = True, Phase.WAITING
            self._connect()
        else:
            self._engine_failed(reason)

    # Steps.

    def _forget(self, used: TokenCounts | None) -> None:
        self._ledger.ended(self, used)

    def _takes_last(self, reply: Reply, data: bytes) -> bool:
        """Leave an answer's last bytes to what ends it; return whether there is sense in them."""
        self._meter.received(data)
        try:
            reply.hold(data)
        except EndlessEvent:
            self._engine_failed("endless_event")
            return False
        return True

    def _engine_failed(self, reason: str) -> None:
        if self._upstream is not None:
            self._upstream.health.failed(reason)
        if reason in _STOPPED and self._moves_on():
            self._meter.upstream_failed(reason)
            self._dispatch()
            return
        refusal = refusals.ENGINES_FAILED if self._was_moved else refusals.ENGINE_FAILED
        self._give_up(reason, refusal)

    def _moves_on(self) -> bool:
        """Return whether another replica is asked, once, for what nothing was answered of.

        By today's routes: what waited long at an engine may know of no other.
        """
        if self._was_moved or self._meter.has_sent or not self._ledger.bounds.moves_unanswered:
            return False
        if self._upstream is not None:
            self._tried.add(self._upstream.replica.address)
        try:
            self.admission = self._ledger.admit_again(self.admission, self.request)
        except Refused:
            return False
        if self._another() is None and not self._ledger.placing.is_full(self, self._tried):
            return False
        self._was_moved, self._reply, self._phase = True, None, Phase.WAITING
        return True

    def _dispatch(self) -> None:
        now = self._clock.monotonic()
        if self._upstream is not None:
            self._leave_upstream()
        if self.deadline_at is not None and self._is_past_deadline(now):
            self._refuse(refusals.deadline_passed(was_asked=False))
            return
        if (choice := self._another()) is None:
            self._go_without()
            return
        self._upstream = choice.upstream
        if self._hold is not None:
            self._hold.rest()
        self._ledger.placing.took(self, choice)
        self._meter.chosen(choice.reason)
        upstream = choice.upstream
        upstream.in_flight += 1
        if not upstream.health.is_well:
            upstream.health.on_trial()
        self._ledger.record(self.line(RecordState.OPEN, now))
        if (connection := upstream.take_idle(now)) is None:
            self._connect()
        else:
            self._ask(upstream, connection)

    def _ask(self, upstream: Upstream, connection: UpstreamConnection) -> None:
        self._phase, self._connection, self._hold = Phase.ASKING, connection, None
        self._meter.sent()
        head = engine_head(
            self.request, self._prepared, self.admission,
            authority=upstream.authority, id=self._meter.request_id, trace=self._meter.trace,
        )  # fmt: skip
        has_body = self.request.method != b"HEAD"
        connection.send(self, head, self._prepared.body, answer_has_body=has_body)

    def _dispatch_anew(self) -> None:
        """Go on by today's routes, which need not be those that it was admitted by."""
        try:
            self.admission = self._ledger.admit_again(self.admission, self.request)
        except Refused as refused:
            self._refuse(refused.refusal)
        else:
            self._dispatch()

    def _connect(self) -> None:
        if self._upstream is not None:
            self._connects = asyncio.get_running_loop().create_task(self._upstream.connect(self))

    def _go_without(self) -> None:
        """Hold it, unless routes came since it was admitted, which was before its body was here."""
        known = self.admission.deployment
        try:
            self.admission = self._ledger.admit_again(self.admission, self.request)
        except Refused as refused:
            self._refuse(refused.refusal)
        else:
            if self.admission.deployment is not known:
                self._dispatch()
            else:
                self._hold = self._hold or Hold(self, self._ledger, self._clock)
                if (refusal := self._hold.begin(self._tried)) is not None:
                    self._refuse(refusal)

    def _is_past_deadline(self, now: float) -> bool:
        return self.deadline_at is not None and now >= self.deadline_at

    def _try_another(self, reason: str) -> None:
        self._meter.upstream_failed(reason)
        if self._upstream is not None:
            self._upstream.health.failed(reason)
            self._tried.add(self._upstream.replica.address)
        self._dispatch_anew()  # it cannot have run, and who failed is passed over: none is spent

    def _another(self) -> Choice | None:
        return self._ledger.placing.choose(self, self._tried)

    def _tries_another_instead(self, status: int) -> bool:
        """Move to another replica when this one is full, if there is one and the budget allows.

        What waits for its turn at a full one spends nothing: its room bounds what is sent again.
        """
        upstream, connection = self._upstream, self._connection
        if upstream is None or connection is None:
            return False
        if not self._ledger.placing.waits_for_room(self, upstream, status):
            self._tried.add(upstream.replica.address)
            if self._another() is None or not self._ledger.retries.spend():
                return False
        self._meter.upstream_failed(f"status_{status}")
        connection.drop()
        self._connection, self._phase = None, Phase.WAITING
        self._dispatch()
        return True

    def _overdue(self, now: float) -> str | None:
        bounds = self._ledger.bounds
        hold, is_connecting = self._hold, self._connects is not None
        may_come = is_connecting or (hold is not None and hold.waits_for_routes)
        waits = self._phase is Phase.WAITING and may_come  # and not for its turn
        return lateness(bounds, self._meter, self._last_moved_at, waits=waits, now=now)
