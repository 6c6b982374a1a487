"""A reply of which a copy is kept for its outline, where its request was chosen for that."""

from typing import Any, NamedTuple

from workers.gateway.consents import Consent
from workers.gateway.reply import Reply

MOST_SAMPLED_BYTES = 4 * 1024 * 1024
"""Of an answer, with all that a stream writes around each token."""


class SampledExchange(NamedTuple):
    """A request and its whole answer, in memory until their outline is made."""

    consent: Consent
    model_id: str
    request_body: bytes
    answered: bytes
    is_stream: bool
    tokens: int | None


class SampledReply(Reply):
    """Does what a reply does, and keeps what the engine said."""

    __slots__ = ("answer",)

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.answer = bytearray()

    def feed(self, data: bytes) -> bytes:
        if len(self.answer) < MOST_SAMPLED_BYTES:
            self.answer += data
        return super().feed(data)
