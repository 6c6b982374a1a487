"""What one request used, for its usage records, and its share of the metrics."""

from typing import TYPE_CHECKING

from controlplane.clock import SYSTEM, Clock
from workers.gateway.metrics import ASYNC_WEIGHT, WHOLE, DeploymentCounts

if TYPE_CHECKING:
    from workers.gateway.tracing import Trace


class Meter:
    __slots__ = (
        "_clock", "_counts", "_weight", "asked_at", "choice", "first_byte_at", "is_async",
        "request_bytes", "request_id", "response_bytes", "sizes", "started_at", "status", "stream",
        "trace",
    )  # fmt: skip

    def __init__(
        self,
        counts: DeploymentCounts,
        request_id: bytes,
        request_bytes: int,
        stream: bool,
        clock: Clock = SYSTEM,
        *,
        sizes: bool = True,
    ) -> None:
        self._clock = clock
        self._weight = 0
        self.sizes = sizes
        """Whether the deployment is sized by it."""
        self._counts = counts
        self.request_bytes, self.stream = request_bytes, stream
        self.asked_at: float | None = None
        self.first_byte_at: float | None = None
        self.response_bytes = 0
        self.status: int | None = None
        self.request_id = request_id
        self.trace: Trace | None = None
        self.choice = ""
        """Why the last replica was chosen."""
        self.is_async = False
        """Whether the queue of asynchronous requests sent it."""
        self.started_at = self._clock.monotonic()

    def opened(self) -> None:
        if self.sizes:
            self._weight = ASYNC_WEIGHT if self.is_async else WHOLE
        self._counts.opened(self.started_at, self._weight)

    @property
    def has_begun(self) -> bool:
        """Whether a byte of the answer's body is here; heads may come long before."""
        return self.first_byte_at is not None

    @property
    def has_sent(self) -> bool:
        return self.response_bytes > 0

    def sent(self) -> None:
        """A replica was sent the request; the last one counts that was, with its first byte."""
        self.asked_at, self.first_byte_at = self._clock.monotonic(), None

    def received(self, body: bytes) -> None:
        if body and self.first_byte_at is None:
            self.first_byte_at = self._clock.monotonic()

    def chosen(self, reason: str) -> None:
        self.choice = reason
        self._counts.chosen(reason)

    def upstream_failed(self, reason: str) -> None:
        self._counts.upstream_failed(reason)

    def closed(self, status: int, now: float) -> None:
        self.status = status
        self._counts.closed(now, self._weight)
        self._counts.finished(
            status, self.request_id,
            duration=now - self.started_at, first_byte=self.first_byte_seconds,
        )  # fmt: skip

    def used(self, prompt_tokens: int, completion_tokens: int) -> None:
        self._counts.tokens.learn(
            prompt_tokens, completion_tokens, self.request_bytes, self.response_bytes
        )

    @property
    def first_byte_seconds(self) -> float | None:
        first = self.first_byte_at
        return None if first is None else first - self.started_at
