from collections.abc import Mapping
from typing import Any


def _error(code: str, message: str, **more: Any) -> dict[str, Any]:
    return {"code": code, "message": message, "fields": [], "hint": None, "source": None} | more


ERRORS: Mapping[str, dict[str, Any]] = {
    "400": _error(
        "unknown_field",
        "`nmae` is not a known field; did you mean `name`?",
        fields=["nmae"],
    ),
    "401": _error(
        "unauthenticated",
        "This API key is unknown, expired or revoked.",
        hint="Send `Authorization: Bearer <API key>`.",
    ),
    "403": _error(
        "not_allowed",
        "You may not make or revoke API keys.",
        hint="Ask an admin of the team.",
    ),
    "404": _error("not_found", "There is nothing here, or not for you."),
    "405": _error("method_not_allowed", 'Method "PUT" not allowed.'),
    "406": _error(
        "not_acceptable",
        "Could not satisfy the request Accept header.",
        hint="Answers are JSON.",
    ),
    "409": _error(
        "request_under_way",
        "A request with the Idempotency-Key `deploy-4711` is being carried out.",
        hint="Send it again in a moment.",
    ),
    "412": _error(
        "changed_since",
        "`/v1/teams/k7m2p9qx` has changed since you read it.",
        hint="Read it again and send the new `ETag` in `If-Match`.",
        details={"etag": '"5f3a9c5f3a9c5f3a9c5f3a9c5f3a9c5f"'},
    ),
    "413": _error("too_large", "The body is larger than 2,000 kB."),
    "415": _error(
        "unsupported_media_type",
        'Unsupported media type "text/plain" in request.',
        hint="Send JSON with `Content-Type: application/json`.",
    ),
    "429": _error("too_many_requests", "More than 1200 requests in a minute."),
    "500": _error(
        "internal_error",
        "Something broke on our side; the request was not completed.",
        hint="Tell an administrator the request id `8xq2m4tak7wd`; the log has the cause.",
    ),
    "503": _error("unavailable", "The queue of tasks does not answer.", hint="Try again."),
}
