"""A request whose key's limits are being asked about: it stands where its exchange will."""

from collections.abc import Callable

from workers.gateway.refusals import Refusal
from workers.gateway.request import Admission, Request
from workers.gateway.seams import Client


class QuotaWait:
    __slots__ = ("_decide", "admission", "client", "has_left", "id", "request")

    def __init__(
        self,
        client: Client,
        request: Request,
        admission: Admission,
        id: bytes,
        decide: Callable[["QuotaWait", Refusal | None], None],
    ) -> None:
        self.client, self.request, self.admission, self.id = client, request, admission, id
        self._decide = decide
        self.has_left = False
        """Whether its client closed while it waited."""

    def decided(self, refusal: Refusal | None) -> None:
        self._decide(self, refusal)

    def start(self) -> None:
        """Wait: whoever asks the other processes decides."""

    def client_left(self) -> None:
        self.has_left = True

    def client_is_full(self) -> None:
        """Hold nothing back: there is no answer yet."""

    def client_has_room(self) -> None:
        """Go on waiting."""
