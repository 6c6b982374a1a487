"""What one request used: its usage records, and its share of the metrics."""

from controlplane.clock import SYSTEM, Clock
from workers.gateway.metrics import DeploymentCounts
from workers.gateway.request import Admission
from workers.gateway.usage import TokenCounts
from workers.gateway.usage_record import RecordState, usage_line


class Meter:
    __slots__ = (
        "_clock", "_counts", "_first_byte_at", "_request_bytes", "_response_bytes", "_status",
        "_stream", "request_id", "started_at",
    )  # fmt: skip

    def __init__(
        self,
        counts: DeploymentCounts,
        *,
        request_id: bytes,
        request_bytes: int,
        stream: bool,
        clock: Clock = SYSTEM,
    ) -> None:
        self._clock = clock
        self._counts = counts
        self._request_bytes, self._stream = request_bytes, stream
        self._first_byte_at: float | None = None
        self._response_bytes = 0
        self._status: int | None = None
        self.request_id = request_id
        self.started_at = self._clock.monotonic()

    def opened(self) -> None:
        self._counts.in_flight += 1

    @property
    def has_begun(self) -> bool:
        """Whether a byte of the answer's body is here; heads may come long before."""
        return self._first_byte_at is not None

    @property
    def has_sent(self) -> bool:
        """Whether the client has been sent a byte."""
        return self._response_bytes > 0

    def answered(self, status: int) -> None:
        self._status = status

    def received(self, body: bytes) -> None:
        if body and self._first_byte_at is None:
            self._first_byte_at = self._clock.monotonic()

    def sent(self, size_bytes: int) -> None:
        self._response_bytes += size_bytes

    def upstream_failed(self, reason: str) -> None:
        self._counts.upstream_failed(reason)

    def closed(self, status: int, now: float) -> None:
        self._status = status
        self._counts.in_flight -= 1
        self._counts.finished(
            status, duration=now - self.started_at, first_byte=self._first_byte_seconds()
        )

    def line(
        self,
        state: RecordState,
        now: float,
        *,
        admission: Admission,
        replica_id: str | None,
        tokens: TokenCounts | None,
    ) -> bytes:
        """Return this request's usage record."""
        return usage_line(
            request_id=self.request_id,
            state=state,
            at=self._clock.time(),
            admission=admission,
            replica_id=replica_id,
            status=self._status,
            stream=self._stream,
            counts=tokens,
            first_byte_seconds=self._first_byte_seconds(),
            duration_seconds=now - self.started_at,
            request_bytes=self._request_bytes,
            response_bytes=self._response_bytes,
        )

    def _first_byte_seconds(self) -> float | None:
        first = self._first_byte_at
        return None if first is None else first - self.started_at
