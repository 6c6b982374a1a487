"""The gateway's heart: what every connection and exchange shares, and no I/O of its own."""

import logging
import os
from collections.abc import Callable
from itertools import count
from typing import Any

from controlplane.clock import SYSTEM, Clock
from controlplane.domain.wire.exposition import form_for
from controlplane.process_settings.gateway import SESSION_HEADER, ReplicaChoice
from workers.gateway import local_answers
from workers.gateway.admitting import Admitting
from workers.gateway.async_calls import AsyncAsk, AsyncCall, AsyncCalls, body_refusal
from workers.gateway.beginning import Beginning
from workers.gateway.body_memory import BodyMemory
from workers.gateway.choice.placing import Placing
from workers.gateway.exchange import Exchange
from workers.gateway.hold.waiting_room import WaitingRoom
from workers.gateway.known_routes import KnownRoutes
from workers.gateway.limits import KeyLimits, RetryBudget
from workers.gateway.load import Load, LoadReport
from workers.gateway.metrics import Metrics
from workers.gateway.metrics_together import MetricsTogether
from workers.gateway.recorder import Recorder
from workers.gateway.refusals import Refusal, Refused, malformed
from workers.gateway.request import Admission, Request
from workers.gateway.routes_difference import difference
from workers.gateway.routing import may_see
from workers.gateway.seams import Begun, Client, ClientSide
from workers.gateway.settings import Bounds
from workers.gateway.snapshot import Key, Snapshot
from workers.gateway.spend.counts import SpendCounts
from workers.gateway.suspects import Suspects
from workers.gateway.tracing import Trace, Tracing
from workers.gateway.traffic_samples.sampled_reply import SampledExchange
from workers.gateway.traffic_samples.sampler import Sampler
from workers.gateway.usage import TokenCounts
from workers.gateway.usage_record import RecordState

log = logging.getLogger(__name__)
_LOCAL_PATHS = frozenset({"/health", "/metrics"})
ASLEEP = "SCALED_TO_ZERO"


class Gateway:
    def __init__(
        self,
        bounds: Bounds,
        recorder: Recorder,
        *,
        clock: Clock = SYSTEM,
        key_time: Callable[[], float] | None = None,
        choice: ReplicaChoice = ReplicaChoice.PREFIX,
        session_header: str = SESSION_HEADER,
    ) -> None:
        """`key_time` tells the time by which keys end, in seconds since the epoch."""
        self._clock = clock
        self.bounds = bounds
        self.recorder = recorder
        self.retries = RetryBudget()
        self.is_draining = False
        self.routes = KnownRoutes()
        self.metrics = Metrics()
        self.metrics_together: MetricsTogether | None = None
        self.tracing: Tracing | None = None
        self.sampler: Sampler | None = None
        self.async_calls: AsyncCalls | None = None
        self.exchanges: set[Exchange] = set()
        self.clients: set[ClientSide] = set()
        self.limits = KeyLimits()
        self.spend = SpendCounts()
        self._key_time = key_time or clock.time
        self.suspects = Suspects(self.try_again, clock=clock)
        self.load = Load(self.metrics, clock=clock)
        self._waiting = WaitingRoom(bounds)
        self.placing = Placing(
            bounds,
            self.metrics,
            self.suspects,
            choice=choice,
            session_header=session_header,
            clock=clock,
        )
        self._admitting = Admitting(self.routes, self.spend, self._key_time)
        self._beginning = Beginning(self, clock=clock)
        self.body_memory = BodyMemory(bounds.buffered_bytes)
        self._id_prefix = os.urandom(10).hex().encode()
        self._ids = count(1)

    @property
    def unfinished(self) -> int:
        """How many requests are on their way, those that connections were just made for too."""
        now = self._clock.monotonic()
        expected = sum(client.is_expected(now) for client in self.clients)
        calls = 0 if self.async_calls is None else len(self.async_calls.running)
        return len(self.exchanges) + len(self._beginning.quota_waits) + calls + expected

    def apply(self, snapshot: Snapshot) -> None:
        """Serve by `snapshot` from now on; what runs goes on where it is."""
        changed = difference(self.routes.snapshot, snapshot)
        self.routes.take(snapshot)
        self.metrics.snapshot_version = snapshot.version
        self.placing.pool.follow(changed)
        self.limits.follow(changed)
        self.spend.follow(changed)
        self.suspects.follow(changed)
        self.try_again()

    def try_again(self) -> None:
        for exchange in (*self.placing.turns.take_all(), *self._waiting.take_all()):
            exchange.routes_changed()

    def sweep(self) -> None:
        """Once a second: time limits, running records, idle connections."""
        now = self._clock.monotonic()
        for exchange in list(self.exchanges):
            exchange.tick(now)
        for client in list(self.clients):
            client.tick(now)
        for exchange in self._waiting.take_all(knocked=True):
            exchange.routes_changed()  # a busy replica may take its connection by now
        self.placing.turns.call_all()
        self.placing.pool.sweep(now)
        self.spend.forget(self._key_time())

    def drain(self) -> None:
        self.is_draining = True
        for client in list(self.clients):
            client.drain()

    def cut_off(self) -> None:
        """End what still runs, saying so where an answer can still carry it."""
        for exchange in list(self.exchanges):
            exchange.cut_off()
        self.placing.pool.close()

    def abort(self) -> None:
        for client in list(self.clients):
            client.abort()

    def running_lines(self) -> list[bytes]:
        now = self._clock.monotonic()
        return [exchange.line(RecordState.RUNNING, now) for exchange in self.exchanges]

    # What a client's connection asks.

    def opened(self, client: ClientSide) -> None:
        self.clients.add(client)
        self.metrics.client_connections += 1

    def closed(self, client: ClientSide) -> None:
        self.clients.discard(client)
        self.metrics.client_connections -= 1

    def admit(self, request: Request) -> None:
        if request.path in _LOCAL_PATHS:
            # No key is asked for yet, so there is nobody whose memory a body could be.
            request.refusal = _without_body(request.path) if request.expects_body else None
            return
        try:
            self._admitting.decide(request)
        except Refused as refused:
            request.refusal = refused.refusal

    def reserve(self, request: Request) -> Refusal | None:
        if (ask := request.async_ask) is not None:
            return body_refusal(request.body_bytes) or self.body_memory.take(request, ask.key)
        admission = request.admission
        return None if admission is None else self.body_memory.take(request, admission.key)

    def release(self, request: Request) -> None:
        self.body_memory.release(request)

    def local_answer(self, request: Request) -> bytes | None:
        if request.path not in _LOCAL_PATHS:
            return None
        id = self.new_request_id()
        if request.path == "/health":
            state, known = self.routes.state(is_draining=self.is_draining), self.routes.snapshot
            version = None if known is None else known.version
            return local_answers.health(request, state=state, version=version, request_id=id)
        return self._metrics_answer(request, id)

    def begin(self, client: Client, request: Request) -> Begun | None:
        return self._beginning.begin(client, request)

    def begin_async(self, client: Client, request: Request, ask: AsyncAsk) -> AsyncCall | None:
        return self._beginning.begin_async(client, request, ask)

    def new_request_id(self) -> bytes:
        return b"%b%012x" % (self._id_prefix, next(self._ids))

    def refused(self, status: int) -> None:
        self.metrics.refuse(status)

    def internal_error(self, request_id: bytes, error: Exception) -> None:
        log.error("request %s failed by a mistake of ours", request_id.decode(), exc_info=error)
        self.metrics.slips += 1

    # What an exchange asks.

    def admit_again(self, admission: Admission, request: Request) -> Admission:
        return self._admitting.again(admission, request)

    def no_room_to_wait(self, exchange: Exchange) -> Refusal | None:
        return self._waiting.no_room(exchange)

    def wait_for_routes(self, exchange: Exchange) -> None:
        self._waiting.add(exchange)
        if exchange.admission.deployment.status == ASLEEP:
            self.load.is_urgent.set()

    def load_report(self) -> LoadReport:
        """Return what was in flight since the last one, and who is ejected now."""
        report = self.load.take(self.exchanges, self._waiting.by_deployment)
        report.ejected = self.placing.pool.ejected()
        return report

    def record(self, line: bytes) -> None:
        self.recorder.record(line)

    def trace_ended(self, trace: Trace, *details: Any) -> None:
        if self.tracing is not None:
            self.tracing.ended(trace, *details)

    def exchange_sampled(self, sampled: SampledExchange) -> None:
        if self.sampler is not None:
            self.sampler.take(sampled)

    def ended(self, exchange: Exchange, used: TokenCounts | None) -> None:
        if exchange not in self.exchanges:
            return
        self.exchanges.discard(exchange)
        if len(self._waiting):
            self._waiting.discard(exchange)
        self.placing.ended(exchange, used)
        self.release(exchange.request)
        if not (exchange.is_counted_by_key or self.spend.is_limited):
            return
        admission, tokens = exchange.admission, 0 if used is None else used.prompt + used.completion
        if self.spend.is_limited:
            self.spend.used(admission.key, admission.deployment.id, tokens, self._key_time())
        if exchange.is_counted_by_key:
            self.limits.leave(admission.key, tokens=tokens)

    def look_who_is_ejected(self) -> None:
        """Set the gauges of ejected replicas, which no request counts."""
        models = {} if self.routes.snapshot is None else self.routes.snapshot.models
        for (model_id, id), counts in self.metrics.deployments.items():
            known = models[model_id].deployments.get(id) if model_id in models else None
            counts.ejected = {} if known is None else self.placing.ejected(known)

    def _metrics_answer(self, request: Request, id: bytes) -> bytes:
        closes = not request.keep_alive
        try:
            key, snapshot = self._admitting.measuring_key(request)
        except Refused as refused:
            self.refused(refused.refusal.status)
            return local_answers.refusal(request, refused.refusal, request_id=id, closes=closes)
        form = form_for(request.named.get(b"accept", b"").decode("latin-1"))
        if self.tracing is not None:
            self.metrics.spans_dropped = self.tracing.dropped
        self.metrics.limits_are_shared = self.limits.is_shared
        self.look_who_is_ejected()
        together = self.metrics_together
        metrics = self.metrics if together is None else together.metrics()
        text = metrics.exposition(lambda model_id: _sees(key, model_id, snapshot), form)
        return local_answers.answer(
            request, 200, text, request_id=id, closes=closes, ours=[], kind=form.encode()
        )


def _sees(key: Key, model_id: str, snapshot: Snapshot) -> bool:
    model = snapshot.models.get(model_id)
    return model is not None and may_see(key, model)


def _without_body(path: str) -> Refusal:
    return malformed(f"`{path}` takes no body. Send the request without one.")
