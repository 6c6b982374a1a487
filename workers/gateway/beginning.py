"""How an admitted request begins: counted by its key, read, and made an exchange or answered."""

from typing import TYPE_CHECKING

from controlplane.clock import SYSTEM, Clock
from controlplane.domain.wire.traffic_mark import ASYNC, MARK_HEADER
from workers.gateway import local_answers
from workers.gateway.async_calls import AWAY, AsyncAsk, AsyncCall
from workers.gateway.exchange import Exchange
from workers.gateway.limits import Entry
from workers.gateway.meter import Meter
from workers.gateway.model_answer import model_answer
from workers.gateway.quota_wait import QuotaWait
from workers.gateway.refusals import Refusal, Refused
from workers.gateway.request import Admission, Request
from workers.gateway.request_body import Prepared, prepare
from workers.gateway.routing import Action
from workers.gateway.seams import Begun, Client
from workers.gateway.snapshot import Deployment
from workers.gateway.turns.deadlines import deadline_in
from workers.gateway.turns.urgency import Urgency

if TYPE_CHECKING:
    from workers.gateway.gateway import Gateway

_MARK_HEADER = MARK_HEADER.encode()
_ASYNC_MARK = ASYNC.encode()


class Beginning:
    """Begins requests for a gateway, whose parts it uses."""

    def __init__(self, gateway: "Gateway", *, clock: Clock = SYSTEM) -> None:
        self._gateway, self._clock = gateway, clock
        self.quota_waits: set[QuotaWait] = set()

    def begin(self, client: Client, request: Request) -> Begun | None:
        """Start an exchange or its wait for a quota, answer, or refuse through `client`."""
        admission, id = request.admission, self._gateway.new_request_id()
        if admission is None:
            return None
        if admission.target.action is Action.WAKE:
            self._wake(client, request, admission.deployment, id)
            return None
        if admission.target.action is Action.MODEL:
            self._tell_model(client, request, admission, id)
            return None
        try:
            entry = self._gateway.limits.enter(admission.key, now=self._clock.monotonic())
        except Refused as refused:
            self._refuse(client, request, refused.refusal, id)
            return None
        if entry is Entry.ASKS:
            return self._wait_for_quota(QuotaWait(client, request, admission, id, self._decided))
        return self._begin_counted(client, request, admission, id, entry is Entry.COUNTED)

    def begin_async(self, client: Client, request: Request, ask: AsyncAsk) -> AsyncCall | None:
        """Start a call to the control plane, or refuse through `client`."""
        self._gateway.release(request)
        id = self._gateway.new_request_id()
        try:
            if self._gateway.async_calls is None:
                raise Refused(AWAY)
            return self._gateway.async_calls.begin(client, request, ask, id)
        except Refused as refused:
            self._gateway.refused(refused.refusal.status)
            client.refuse(request, refused.refusal, id)
            return None

    def _wake(self, client: Client, request: Request, deployment: Deployment, id: bytes) -> None:
        """Answer at once: a start takes longer than a client waits."""
        self._gateway.release(request)
        self._gateway.load.wake(deployment.id)
        client.write(local_answers.accepted(request, request_id=id))
        client.answered(keep_alive=request.keep_alive)

    def _tell_model(
        self, client: Client, request: Request, admission: Admission, id: bytes
    ) -> None:
        """Answer for the engines, none of which is asked for one model alone."""
        self._gateway.release(request)
        answer = model_answer(admission.target, admission.deployment)
        if isinstance(answer, Refusal):
            self._gateway.refused(answer.status)
            client.refuse(request, answer, id)
        else:
            client.write(local_answers.response_of(request, answer, request_id=id))
            client.answered(keep_alive=request.keep_alive)

    def _refuse(self, client: Client, request: Request, refusal: Refusal, id: bytes) -> None:
        self._gateway.release(request)
        self._gateway.refused(refusal.status)
        client.refuse(request, refusal, id)

    def _wait_for_quota(self, wait: QuotaWait) -> QuotaWait:
        self.quota_waits.add(wait)
        self._gateway.limits.wait(wait.admission.key, wait)
        return wait

    def _decided(self, wait: QuotaWait, refusal: Refusal | None) -> None:
        self.quota_waits.discard(wait)
        if wait.has_left:
            self._gateway.release(wait.request)
            if refusal is None:
                self._gateway.limits.leave(wait.admission.key)
        elif refusal is not None:
            self._refuse(wait.client, wait.request, refusal, wait.id)
        else:
            arguments = (wait.client, wait.request, wait.admission, wait.id)
            wait.client.goes_on(wait.request, lambda: self._begin_counted(*arguments, True))

    def _begin_counted(
        self, client: Client, request: Request, admission: Admission, id: bytes, counted: bool
    ) -> Exchange | None:
        try:
            body = request.body[0] if len(request.body) == 1 else b"".join(request.body)
            prepared = prepare(body, admission.route, admission.deployment, admission.key)
            deadline_at = deadline_in(request.named, self._clock)
        except Exception as error:
            if counted:
                self._gateway.limits.leave(admission.key)
            if not isinstance(error, Refused):
                self._gateway.release(request)
                raise
            self._refuse(client, request, error.refusal, id)
            return None
        request.body.clear()
        meter = self._meter(request, admission, prepared, id)
        exchange = Exchange(
            self._gateway, client, request, prepared, meter, admission, counted, self._clock
        )
        exchange.deadline_at = deadline_at
        if (sampler := self._gateway.sampler) is not None:
            exchange.consent = sampler.chosen(self._gateway.routes.snapshot, admission, prepared)
        if admission.deployment.backpressure is not None:
            exchange.urgency = Urgency.of(request.named.get(b"priority"))
        self._gateway.exchanges.add(exchange)
        return exchange

    def _meter(
        self, request: Request, admission: Admission, prepared: Prepared, id: bytes
    ) -> Meter:
        deployment, tracing = admission.deployment, self._gateway.tracing
        meter = Meter(
            self._gateway.metrics.of(deployment.model_id, deployment.id),
            id,
            request.body_bytes,
            prepared.stream,
            self._clock,
            sizes=not admission.key.traffic_mark,
        )
        meter.is_async = request.named.get(_MARK_HEADER) == _ASYNC_MARK
        if tracing is not None:
            meter.trace = tracing.begin(request)
        return meter
