"""Shapes on the wire: OpenAI errors, usage, server-sent events."""

from controlplane.domain.wire.errors import error_type, openai_error
from controlplane.domain.wire.events import DONE, EventDecoder, encode_comment, encode_event
from controlplane.domain.wire.usage import Usage

__all__ = [
    "DONE",
    "EventDecoder",
    "Usage",
    "encode_comment",
    "encode_event",
    "error_type",
    "openai_error",
]
