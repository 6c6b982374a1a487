"""What the engine refuses, and in which words."""

CONTEXT_LENGTH_EXCEEDED = "context_length_exceeded"
INPUT_TOO_LONG = "input_too_long"
TOO_MANY_INPUTS = "too_many_inputs"


class CheckpointRefused(Exception):
    """The folder cannot be served; the message says why and what to do."""


class RequestRefused(Exception):
    """A request that never reaches the model; `field` names what to change."""

    def __init__(self, message: str, *, field: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        self.code = code


class QueueFull(Exception):
    """Every row is busy and the waiting line is at its limit."""


class RowFailed(Exception):
    """One row cannot go on; the others are not touched."""
