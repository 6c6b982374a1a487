"""Errors that services raise and that a caller can act on.

REST answers one as the one JSON body (`apps.rest.error_answers`), pages show its message.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar


class ApiError(Exception):
    """Something a caller can act on: what happened in the caller's own values, and what to do."""

    status: ClassVar[int] = 400
    code: str = "invalid_input"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        fields: Sequence[str] = (),
        hint: str | None = None,
        source: Mapping[str, Any] | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or type(self).code
        self.fields = tuple(fields)
        self.hint = hint
        self.source = source
        self.details = details

    def to_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {
            "code": self.code,
            "message": self.message,
            "fields": list(self.fields),
            "hint": self.hint,
            "source": dict(self.source) if self.source else None,
        }
        return body | ({"details": dict(self.details)} if self.details else {})


class InvalidInput(ApiError):
    """The request says something that cannot be done as it stands."""


class Unauthenticated(ApiError):
    """Nobody known is calling."""

    status = 401
    code = "unauthenticated"


class NotAllowed(ApiError):
    """The caller is known and may not do this."""

    status = 403
    code = "not_allowed"


class NotFound(ApiError):
    """There is no such thing, or it belongs to someone else: the answer is the same."""

    status = 404
    code = "not_found"


class Conflict(ApiError):
    """The thing is no longer, or not yet, in the state that this needs."""

    status = 409
    code = "conflict"


class TooLarge(ApiError):
    """The body is larger than this address takes."""

    status = 413
    code = "too_large"


class NotAForm(ApiError):
    """The body is no form, and this address takes files."""

    status = 415
    code = "unsupported_media_type"


class TooMany(ApiError):
    """The caller asks too often; the hint says how long to wait."""

    status = 429
    code = "too_many_requests"


class InternalError(ApiError):
    """A bug or a broken machine of ours."""

    status = 500
    code = "internal_error"


class Unavailable(ApiError):
    """Something this needs does not answer right now; the same request may work later."""

    status = 503
    code = "unavailable"
