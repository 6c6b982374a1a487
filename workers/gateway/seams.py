"""What an exchange needs of its two neighbours: the client's connection and the gateway."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from workers.gateway.limits import RetryBudget
from workers.gateway.meter import Meter
from workers.gateway.refusals import Refusal
from workers.gateway.request import Admission, Request
from workers.gateway.settings import Bounds
from workers.gateway.tracing import Trace
from workers.gateway.usage import TokenCounts

if TYPE_CHECKING:
    from workers.gateway.async_calls import AsyncAsk
    from workers.gateway.choice.placing import Placing
    from workers.gateway.exchange import Exchange
    from workers.gateway.traffic_samples.sampled_reply import SampledExchange


class Begun(Protocol):
    """A request on its way, as the connection that asked sees it."""

    def start(self) -> None: ...

    def client_left(self) -> None: ...

    def client_is_full(self) -> None: ...

    def client_has_room(self) -> None: ...


class Client(Protocol):
    """The connection that asked."""

    def write(self, data: bytes) -> None: ...

    def refuse(self, request: Request, refusal: Refusal, request_id: bytes) -> None:
        """Answer a request of which no byte was answered yet, and go on to the next."""

    def answered(self, *, keep_alive: bool) -> None:
        """Go on to the next request, or close."""

    def goes_on(self, request: Request, begin: Callable[[], Begun | None]) -> None:
        """Begin the request that waited until it was counted."""

    def abort(self) -> None: ...


class Ledger(Protocol):
    """Where an exchange finds replicas and leaves its records."""

    bounds: Bounds
    retries: RetryBudget
    is_draining: bool
    placing: "Placing"

    def admit_again(self, admission: Admission, request: Request) -> Admission:
        """Return the same admission under today's routes. Raises Refused."""

    def no_room_to_wait(self, exchange: "Exchange") -> Refusal | None:
        """Return why a request cannot wait for a replica that wakes, or None."""

    def wait_for_routes(self, exchange: "Exchange") -> None: ...

    def record(self, line: bytes) -> None: ...

    def trace_ended(
        self,
        trace: Trace,
        meter: Meter,
        admission: Admission,
        replica_id: str | None,
        counts: TokenCounts | None,
        now: float,
    ) -> None: ...

    def ended(self, exchange: "Exchange", used: TokenCounts | None) -> None:
        """Forget an exchange; the second time changes nothing."""

    def exchange_sampled(self, sampled: "SampledExchange") -> None:
        """Keep the outline of what was said, perhaps."""

    def internal_error(self, request_id: bytes, error: Exception) -> None: ...


class Handler(Protocol):
    """Who takes requests from a client's connection."""

    bounds: Bounds
    is_draining: bool

    def opened(self, client: "ClientSide") -> None: ...

    def closed(self, client: "ClientSide") -> None: ...

    def admit(self, request: Request) -> None:
        """Decide as soon as the head is read: sets `admission` or `refusal`."""

    def reserve(self, request: Request) -> Refusal | None:
        """Return why the body that has grown is too much for memory, or None."""

    def release(self, request: Request) -> None: ...

    def local_answer(self, request: Request) -> bytes | None:
        """Return the whole answer to a request that is for the gateway itself."""

    def begin_async(self, client: Client, request: Request, ask: "AsyncAsk") -> Begun | None:
        """Start a call to the control plane, or refuse through `client`."""

    def begin(self, client: Client, request: Request) -> Begun | None:
        """Start an exchange, or refuse through `client`."""

    def new_request_id(self) -> bytes: ...

    def refused(self, status: int) -> None: ...

    def internal_error(self, request_id: bytes, error: Exception) -> None:
        """Log and count a mistake of the gateway's own."""


class ClientSide(Protocol):
    """A client's connection as the gateway's once-a-second sweep sees it."""

    def tick(self, now: float) -> None: ...

    def drain(self) -> None: ...

    def is_expected(self, now: float) -> bool:
        """Return whether its first request is on the way."""

    def abort(self) -> None: ...
