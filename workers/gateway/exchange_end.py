"""How a request ends: answered, refused, or broken off; and what is written down of it."""

import asyncio
from abc import ABC, abstractmethod
from http import HTTPStatus

from controlplane.clock import SYSTEM, Clock
from workers.gateway import refusals
from workers.gateway.choice.beliefs import Sent
from workers.gateway.choice.prompts import Prompt
from workers.gateway.consents import Consent
from workers.gateway.containment import contained
from workers.gateway.hold.hold import Hold
from workers.gateway.meter import Meter
from workers.gateway.phase import Phase
from workers.gateway.refusals import Refusal
from workers.gateway.reply import Reply
from workers.gateway.request import Admission, Request
from workers.gateway.request_body import Prepared
from workers.gateway.seams import Client, Ledger
from workers.gateway.tracing import Trace
from workers.gateway.traffic_samples.sampled_reply import SampledExchange, SampledReply
from workers.gateway.turns.urgency import USUAL
from workers.gateway.upstream import Upstream, UpstreamConnection
from workers.gateway.usage import TokenCounts
from workers.gateway.usage_record import RecordState, usage_line


class EndingExchange(ABC):
    """What an exchange holds, and lets go of at its end."""

    __slots__ = (
        "_client", "_client_is_full", "_clock", "_connection", "_connects", "_has_internal_error",
        "_hold", "_last_moved_at", "_ledger", "_meter", "_phase", "_prepared", "_reply",
        "_tried", "_upstream", "_was_moved", "_was_unheard", "admission", "consent", "deadline_at",
        "is_counted_by_key", "reckoned_tokens", "request", "sent", "urgency",
    )  # fmt: skip

    def __init__(
        self,
        ledger: Ledger,
        client: Client,
        request: Request,
        prepared: Prepared,
        meter: Meter,
        admission: Admission,
        is_counted_by_key: bool,
        clock: Clock = SYSTEM,
    ) -> None:
        self._clock = clock
        self._ledger, self._client, self._meter, self._prepared = ledger, client, meter, prepared
        self.request, self.admission = request, admission
        self.is_counted_by_key = is_counted_by_key
        self.deadline_at: float | None = None
        self.consent: Consent | None = None
        """By which the outline of what is said is kept, where it was chosen for that."""
        self.reckoned_tokens, self.urgency = 0, USUAL
        self.sent: Sent | None = None
        """What the last replica was sent, where its answer corrects what is known of its cache."""
        self._phase = Phase.WAITING
        self._reply: Reply | None = None
        self._upstream: Upstream | None = None
        self._connection: UpstreamConnection | None = None
        self._connects: asyncio.Task[None] | None = None
        self._tried: set[str] = set()
        self._was_unheard = self._was_moved = False
        self._client_is_full = self._has_internal_error = False
        self._hold: Hold | None = None
        self._last_moved_at = meter.started_at

    @property
    def is_async(self) -> bool:
        return self._meter.is_async

    @property
    def request_bytes(self) -> int:
        return self._meter.request_bytes

    @property
    def response_bytes(self) -> int:
        return self._meter.response_bytes

    @property
    def prompt(self) -> Prompt | None:
        return self._prepared.prompt

    @property
    def has_knocked(self) -> bool:
        """Whether a replica would not have it."""
        return bool(self._tried)

    @property
    def started_at(self) -> float:
        return self._meter.started_at

    @property
    def sizes(self) -> bool:
        """Whether its deployment is sized by it."""
        return self._meter.sizes

    def line(self, state: RecordState, now: float) -> bytes:
        upstream, reply = self._upstream, self._reply
        return usage_line(
            state, self._meter, self.admission,
            None if upstream is None else upstream.replica.id,
            None if reply is None else reply.counts,
            at=self._clock.time(), now=now,
        )  # fmt: skip

    def internal_error(self, error: Exception) -> None:
        """End it with an error of ours; where even that fails, without a word."""
        self._ledger.internal_error(self._meter.request_id, error)
        if self._has_internal_error or self._phase is Phase.ENDED:
            self._forget(None)
            self._client.abort()
        else:
            self._has_internal_error = True
            self._reply = self._reply if self._meter.has_sent else None
            contained(EndingExchange._end_early)(self, refusals.GATEWAY_FAILED)

    def _send(self, data: bytes) -> None:
        self._last_moved_at = self._clock.monotonic()
        self._meter.response_bytes += len(data)
        self._client.write(data)

    def _give_up(self, reason: str, refusal: Refusal) -> None:
        self._meter.upstream_failed(reason)
        self._end_early(refusal)

    def _end_early(self, refusal: Refusal) -> None:
        meter = self._meter
        has_events = self._reply is not None and self._reply.streams and meter.has_begun
        if not meter.has_sent and not has_events:
            self._reply = None  # the whole truth can still be told
        if self._reply is None:
            self._refuse(refusal)
        else:
            self._break_off(self._reply, refusal)

    def _break_off(self, reply: Reply, refusal: Refusal) -> None:
        """End an answer that began: an error event in a stream, a cut connection elsewhere."""
        last_words = b"" if self._client_is_full else reply.break_off(refusal)
        if last_words:
            self._send(last_words)
        self._end(refusal.status)
        if last_words:
            # It ended as HTTP wants it, and the head said whether the connection stays.
            self._client.answered(keep_alive=not (reply.closes or self._has_internal_error))
        else:
            self._client.abort()

    def _refuse(self, refusal: Refusal) -> None:
        self._end(refusal.status)
        self._client.refuse(self.request, refusal, self._meter.request_id)

    def _end(self, status: int) -> None:
        now, meter, reply = self._clock.monotonic(), self._meter, self._reply
        self._phase, self._hold = Phase.ENDED, None
        if self._connection is not None:
            self._connection.drop()
            self._connection = None
        meter.closed(status, now)
        used = None if reply is None else reply.counts
        if used is not None:
            meter.used(used.prompt, used.completion)
        if self.consent is not None and status == HTTPStatus.OK:
            self._sample(self.consent)
        line = self.line(RecordState.CLOSED, now)
        if meter.trace is not None:
            self._tell_trace(meter.trace, now)
        self._leave_upstream()
        self._forget(used)
        self._ledger.record(line)

    def _tell_trace(self, trace: Trace, now: float) -> None:
        upstream, reply = self._upstream, self._reply
        self._ledger.trace_ended(
            trace, self._meter, self.admission,
            None if upstream is None else upstream.replica.id,
            None if reply is None else reply.counts,
            now,
        )  # fmt: skip

    def _sample(self, consent: Consent) -> None:
        if isinstance(reply := self._reply, SampledReply):
            model_id, counts = self.admission.deployment.model_id, reply.counts
            self._ledger.exchange_sampled(
                SampledExchange(
                    consent, model_id, self._prepared.body, bytes(reply.answer), reply.streams,
                    None if counts is None else counts.prompt + counts.completion,
                )
            )  # fmt: skip

    def _leave_upstream(self) -> None:
        if (upstream := self._upstream) is not None:
            upstream.in_flight -= 1
            if not upstream.health.is_well:
                upstream.health.let_go()
            self._upstream = None
            self._ledger.placing.left(self.admission.deployment)

    @abstractmethod
    def _forget(self, used: TokenCounts | None) -> None:
        """Have the ledger forget it; the second time changes nothing."""
