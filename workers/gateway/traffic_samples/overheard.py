"""A reply of which a copy is kept for its outline, where its request was chosen for that."""

from typing import Any, NamedTuple

from workers.gateway.consents import Consent
from workers.gateway.reply import Reply

MOST_HEARD_BYTES = 4 * 1024 * 1024
"""Of an answer, with all that a stream writes around each token."""


class Overheard(NamedTuple):
    """A request and its whole answer, in memory until their outline is made."""

    consent: Consent
    model_id: str
    asked: bytes
    answered: bytes
    is_stream: bool
    tokens: int | None


class OverheardReply(Reply):
    """Does what a reply does, and keeps what the engine said."""

    __slots__ = ("heard",)

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.heard = bytearray()

    def feed(self, data: bytes) -> bytes:
        if len(self.heard) < MOST_HEARD_BYTES:
            self.heard += data
        return super().feed(data)
