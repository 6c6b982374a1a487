from typing import Any

_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    413: "invalid_request_error",
    422: "invalid_request_error",
    429: "rate_limit_error",
}


def openai_error(
    message: str, *, type: str, code: str | None = None, param: str | None = None
) -> dict[str, Any]:
    """Return the JSON body of an error; `param` names the field of the request."""
    return {"error": {"message": message, "type": type, "param": param, "code": code}}


def error_type(status: int) -> str:
    """Return the `type` that clients expect beside an HTTP status."""
    return _TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")
