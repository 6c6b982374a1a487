"""The gateway's heart: what every connection and exchange shares, and no I/O of its own."""

import logging
import os
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

from controlplane.clock import SYSTEM, Clock
from controlplane.domain.wire.exposition import form_for
from controlplane.domain.wire.traffic_mark import ASYNC, MARK_HEADER
from workers.gateway import local_answers
from workers.gateway.async_calls import (
    ASYNC_ACTIONS,
    AWAY,
    READING,
    AsyncAsk,
    AsyncCall,
    AsyncCalls,
    async_ask,
    body_refusal,
)
from workers.gateway.authentication import (
    INVOKING,
    MEASURING,
    authenticate,
    behind,
    require_mark,
    require_money,
    require_scope,
)
from workers.gateway.body_memory import BodyMemory
from workers.gateway.choice.chooser import Choice, Chooser, Wish
from workers.gateway.choice.pool import UpstreamPool
from workers.gateway.choice.rendezvous import number_of
from workers.gateway.exchange import Exchange
from workers.gateway.limits import Entry, KeyLimits, RetryBudget
from workers.gateway.load import Load, LoadReport
from workers.gateway.meter import Meter
from workers.gateway.metrics import Metrics
from workers.gateway.model_told import model_told
from workers.gateway.recorder import Recorder
from workers.gateway.refusals import Refusal, Refused, deployment_full, malformed
from workers.gateway.request import Admission, Request
from workers.gateway.request_body import prepare
from workers.gateway.routing import Action, Target, may_see, parse_target, require_open, resolve
from workers.gateway.seams import Begun, Client, ClientSide
from workers.gateway.settings import Bounds
from workers.gateway.shares import CANARY_HEADER, Shares, Wish
from workers.gateway.snapshot import Deployment, Key, Snapshot
from workers.gateway.suspects import Suspects
from workers.gateway.tracing import Trace, Tracing
from workers.gateway.turns.deadlines import deadline_in
from workers.gateway.turns.turns import Turns
from workers.gateway.turns.urgency import Urgency
from workers.gateway.usage import TokenCounts
from workers.gateway.usage_record import RecordState
from workers.gateway.waiting_room import WaitingRoom

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
        self._key_time = key_time or clock.time
        self.bounds = bounds
        self.recorder = recorder
        self.retries = RetryBudget()
        self.is_draining = False
        self.snapshot: Snapshot | None = None
        self.routes_hold = True
        """Whether the control plane has confirmed the snapshot lately enough to serve by it."""
        self.metrics = Metrics()
        self.tracing: Tracing | None = None
        self.async_calls: AsyncCalls | None = None
        self.exchanges: set[Exchange] = set()
        self.clients: set[ClientSide] = set()
        self._limits = KeyLimits()
        self._shares = Shares()
        self._pool = UpstreamPool(bounds, clock=clock)
        self._chooser = Chooser(self._pool, by=choice, clock=clock)
        self._session_header = session_header.encode()
        self.suspects = Suspects(self.try_again, clock=clock)
        self.load = Load(self.metrics, clock=clock)
        self._waiting = WaitingRoom(bounds)
        self._turns = Turns(bounds, self.metrics, self._has_room)
        self.body_memory = BodyMemory(bounds.buffered_bytes)
        self._id_prefix = os.urandom(10).hex().encode()
        self._ids = count(1)

    @property
    def unfinished(self) -> int:
        """How many requests are on their way, those that connections were just made for too."""
        now = self._clock.monotonic()
        expected = sum(client.is_expected(now) for client in self.clients)
        return len(self.exchanges) + len(self._quota_waits) + expected

    def apply(self, snapshot: Snapshot) -> None:
        """Serve by `snapshot` from now on; what runs goes on where it is."""
        self.snapshot = snapshot
        self.metrics.snapshot_version = snapshot.version
        self._pool.keep_only(snapshot)
        self.limits.keep_only(snapshot)
        self.suspects.keep_only(snapshot)
        self.try_again()

    def try_again(self) -> None:
        """Look anew for a replica for every request that waits for one."""
        for exchange in (*self._turns.take_all(), *self._waiting.take_all()):
            exchange.routes_changed()

    def sweep(self) -> None:
        """Once a second: time limits, running records, idle connections."""
        now = self._clock.monotonic()
        for exchange in list(self.exchanges):
            exchange.tick(now)
        for client in list(self.clients):
            client.tick(now)
        self._turns.call_all()
        self._pool.sweep(now)

    def drain(self) -> None:
        self.is_draining = True
        for client in list(self.clients):
            client.drain()

    def cut_off(self) -> None:
        """End what still runs, saying so where an answer can still carry it."""
        for exchange in list(self.exchanges):
            exchange.cut_off()
        self._pool.close()

    def abort(self) -> None:
        for client in list(self.clients):
            client.abort()

    def running_lines(self) -> list[bytes]:
        """Return a record of every request that has an open one."""
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
            self._decide(request)
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
            version = None if self.snapshot is None else self.snapshot.version
            return local_answers.health(request, state=self._state, version=version, request_id=id)
        return self._metrics_answer(request, id)

    def begin_async(self, client: Client, request: Request, ask: AsyncAsk) -> AsyncCall | None:
        """Start a call to the control plane, or refuse through `client`."""
        self.release(request)
        id = self.new_request_id()
        try:
            if self.async_calls is None:
                raise Refused(AWAY)
            return self.async_calls.begin(client, request, ask, id)
        except Refused as refused:
            self.refused(refused.refusal.status)
            client.refuse(request, refused.refusal, id)
            return None

    def begin(self, client: Client, request: Request) -> Exchange | None:
        admission, id = request.admission, self.new_request_id()
        if admission is None:
            return None
        if admission.target.action is Action.WAKE:
            self._wake(client, request, admission.deployment, id)
            return None
        if admission.target.action is Action.MODEL:
            self._tell_model(client, request, admission, id)
            return None
        counted = False
        try:
            counted = self._limits.enter(admission.key, now=self._clock.monotonic())
            body = request.body[0] if len(request.body) == 1 else b"".join(request.body)
            prepared = prepare(body, admission.route, admission.deployment, admission.key)
            deadline_at = deadline_in(request.named, self._clock)
        except Exception as error:
            if counted:
                self._limits.leave(admission.key)
            self.release(request)
            if not isinstance(error, Refused):
                raise
            self.refused(error.refusal.status)
            client.refuse(request, error.refusal, id)
            return None
        request.body.clear()
        deployment = admission.deployment
        meter = Meter(
            self.metrics.of(deployment.model_id, deployment.id),
            id,
            request.body_bytes,
            prepared.stream,
            self._clock,
            sizes=not admission.key.traffic_mark,
        )
        meter.is_async = request.named.get(_MARK_HEADER) == _ASYNC_MARK
        if self.tracing is not None:
            meter.trace = self.tracing.begin(request)
        exchange = Exchange(
            self,
            client,
            request,
            prepared,
            meter,
            admission,
            counted,
            self._clock,
        )
        exchange.deadline_at = deadline_at
        if deployment.backpressure is not None:
            exchange.urgency = Urgency.of(request.named.get(b"priority"))
        self.exchanges.add(exchange)
        return exchange

    def new_request_id(self) -> bytes:
        return b"%b%012x" % (self._id_prefix, next(self._ids))

    def refused(self, status: int) -> None:
        self.metrics.refuse(status)

    def internal_error(self, request_id: bytes, error: Exception) -> None:
        log.error("request %s failed by a mistake of ours", request_id.decode(), exc_info=error)
        self.metrics.slips += 1

    # What an exchange asks.

    def choose(self, exchange: Exchange, tried: set[str]) -> Choice | None:
        deployment = exchange.admission.deployment
        replicas = self._answering(deployment)
        wish = Wish() if len(replicas) < 2 else Wish(exchange.prompt, self._session(exchange))
        if (limit := deployment.backpressure) is None:
            return self._chooser.choose(replicas, tried, wish)
        if self._turns.is_behind_others(exchange):
            return None
        return self._chooser.choose(replicas, tried, wish, most_in_flight=limit.concurrency)

    def is_full(self, exchange: Exchange, tried: set[str]) -> bool:
        deployment = exchange.admission.deployment
        if deployment.backpressure is None:
            return False
        return any(each.address not in tried for each in self._answering(deployment))

    def wait_for_turn(self, exchange: Exchange) -> Refusal | None:
        deployment = exchange.admission.deployment
        counts = self.metrics.of(deployment.model_id, deployment.id)
        limit = deployment.backpressure
        carried = len(self._answering(deployment)) * (1 if limit is None else limit.concurrency)
        pause = counts.seconds_until_room(self._turns.waiting(deployment.id) + 1, carried)
        if limit is not None and limit.rejects:
            return deployment_full(deployment, limit.concurrency, pause)
        exchange.reckoned_tokens = counts.tokens.reckon(exchange.request_bytes)
        return self._turns.add(exchange, retry_after_seconds=pause)

    def left(self, deployment: Deployment) -> None:
        if len(self._turns):
            self._turns.call(deployment)

    def took(self, exchange: Exchange, choice: Choice) -> None:
        self._chooser.took(choice, exchange.prompt)

    def may_come(self, deployment: Deployment) -> bool:
        return self.suspects.may_answer(deployment)

    def admit_again(self, admission: Admission, request: Request) -> Admission:
        wish = CanaryWish(request.named.get(CANARY_HEADER, b""), admission.deployment.id)
        snapshot = self._known_routes()
        return self._admitted(admission.key, admission.target, request.method, snapshot, wish)

    def no_room_to_wait(self, exchange: Exchange) -> Refusal | None:
        return self._waiting.no_room(exchange)

    def wait_for_routes(self, exchange: Exchange) -> None:
        self._waiting.add(exchange)
        if exchange.admission.deployment.status == ASLEEP:
            self.load.is_urgent.set()

    def load_report(self) -> LoadReport:
        """Return what was in flight since the last one, for the control plane."""
        return self.load.take(self.exchanges, self._waiting.by_deployment)

    def record(self, line: bytes) -> None:
        self.recorder.record(line)

    def trace_ended(self, trace: Trace, *told: Any) -> None:
        if self.tracing is not None:
            self.tracing.ended(trace, *told)

    def ended(self, exchange: Exchange, used: TokenCounts | None) -> None:
        if exchange not in self.exchanges:
            return
        self.exchanges.discard(exchange)
        self._waiting.discard(exchange)
        self._turns.discard(exchange)
        self.release(exchange.request)
        tokens = 0 if used is None else used.prompt + used.completion
        if tokens and len(self._turns):
            more = tokens - exchange.reckoned_tokens
            admission = exchange.admission
            self._turns.charge(admission.deployment.id, admission.key.id, more)
        if exchange.is_counted_by_key:
            self._limits.leave(exchange.admission.key, tokens=tokens)

    # Steps.

    def _decide(self, request: Request) -> None:
        snapshot, now = self._known_routes(), self._key_time()
        key = authenticate(request.authorization, snapshot, now=now)
        target = parse_target(request.path)
        require_mark(key, request.named.get(_MARK_HEADER))
        key = behind(key, request.named, snapshot, now=now)
        require_scope(key, MEASURING | INVOKING if _reads_metrics(target, request) else INVOKING)
        if target.action not in READING:
            require_money(key, now=now)
        wish = CanaryWish(request.named.get(CANARY_HEADER, b""))
        if target.action in ASYNC_ACTIONS:
            request.async_ask = async_ask(key, target, request, snapshot, self._shares, wish)
        else:
            request.admission = self._admitted(key, target, request.method, snapshot, wish)

    def _admitted(
        self, key: Key, target: Target, method: bytes, snapshot: Snapshot, wish: Wish
    ) -> Admission:
        deployment = resolve(target, key, snapshot, self._shares, wish)
        require_open(target, method, deployment)
        return Admission.of(key, target, deployment)

    def _session(self, exchange: Exchange) -> int | None:
        name = exchange.request.named.get(self._session_header)
        if not name:
            return None
        return number_of(exchange.admission.key.id, name.decode("latin-1"))

    def _wake(self, client: Client, request: Request, deployment: Deployment, id: bytes) -> None:
        """Answer at once: a start takes longer than a client waits."""
        self.release(request)
        self.load.wake(deployment.id)
        client.write(local_answers.accepted(request, request_id=id))
        client.answered(keep_alive=request.keep_alive)

    def _tell_model(
        self, client: Client, request: Request, admission: Admission, id: bytes
    ) -> None:
        """Answer for the engines, none of which is asked for one model alone."""
        self.release(request)
        told = model_told(admission.target, admission.deployment)
        if isinstance(told, Refusal):
            self.refused(told.status)
            client.refuse(request, told, id)
        else:
            client.write(local_answers.told(request, told, request_id=id))
            client.answered(keep_alive=request.keep_alive)

    @property
    def is_busy(self) -> bool:
        """Whether a client still waits for an answer."""
        return bool(self.exchanges or (self.async_calls is not None and self.async_calls.running))

    @property
    def _state(self) -> str:
        if self.is_draining:
            return "draining"
        if self.snapshot is None:
            return "starting"
        return "ok" if self.routes_hold else "unconfirmed"

    def _known_routes(self) -> Snapshot:
        if self.snapshot is None:
            raise Refused(_STARTING)
        if not self.routes_hold:
            raise Refused(_UNCONFIRMED)
        return self.snapshot

    def _metrics_answer(self, request: Request, id: bytes) -> bytes:
        closes = not request.keep_alive
        try:
            snapshot = self._known_routes()
            key = authenticate(request.authorization, snapshot, now=self._key_time())
            require_scope(key, MEASURING)
        except Refused as refused:
            self.refused(refused.refusal.status)
            return local_answers.refusal(request, refused.refusal, request_id=id, closes=closes)
        form = form_for(request.named.get(b"accept", b"").decode("latin-1"))
        if self.tracing is not None:
            self.metrics.spans_dropped = self.tracing.dropped
        self.metrics.limits_are_shared = self.limits.is_shared
        text = self.metrics.exposition(lambda model_id: _sees(key, model_id, snapshot), form)
        return local_answers.answer(
            request, 200, text, request_id=id, closes=closes, ours=[], kind=form.encode()
        )


def _reads_metrics(target: Target, request: Request) -> bool:
    return target.route == "/metrics" and request.method == b"GET"


def _sees(key: Key, model_id: str, snapshot: Snapshot) -> bool:
    model = snapshot.models.get(model_id)
    return model is not None and may_see(key, model)


def _without_body(path: str) -> Refusal:
    return malformed(f"`{path}` takes no body. Send the request without one.")


_MARK_HEADER = MARK_HEADER.encode()
_ASYNC_MARK = ASYNC.encode()
_STARTING = Refusal(
    status=503,
    code="gateway_starting",
    error_code="model_unavailable",
    message="The gateway has not received its routes yet. Send the request again in a moment.",
    retry_after_seconds=2,
)
_UNCONFIRMED = Refusal(
    status=503,
    code="routes_unconfirmed",
    error_code="model_unavailable",
    message="The gateway has been cut off from its control plane for so long that it no longer "
    "knows which keys and routes hold. Its operator finds the cause in its log.",
    retry_after_seconds=60,
)
