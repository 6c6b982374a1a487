"""Every error of a REST view, whoever raised it, in the one body."""

import logging
import math
from collections.abc import Iterator, Mapping
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.http import Http404
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import set_rollback

from apps.rest.errors import (
    ApiError,
    InternalError,
    InvalidInput,
    NotAllowed,
    NotFound,
    TooLarge,
    TooMany,
    Unauthenticated,
    Unavailable,
)
from apps.rest.identifiers import new_id
from controlplane import full_database
from controlplane.full_database import FULL_DATABASE

_log = logging.getLogger(__name__)


def exception_handler(error: Exception, context: Mapping[str, Any]) -> Response:
    set_rollback()
    known = as_api_error(error)
    status = known.status
    headers: dict[str, str] = {}
    if isinstance(error, exceptions.APIException):
        status = error.status_code
        if wait := getattr(error, "wait", None):
            headers["Retry-After"] = str(math.ceil(wait))
        if challenge := getattr(error, "auth_header", None):
            headers["WWW-Authenticate"] = challenge
    elif isinstance(known, Unauthenticated):
        headers["WWW-Authenticate"] = "Bearer"
    elif isinstance(known, Unavailable):
        headers["Retry-After"] = "2"
    if isinstance(known, InternalError):
        headers["X-Request-Id"] = _log_failure(error, known, context)
    return Response(known.to_json(), status=status, headers=headers)


def as_api_error(error: Exception) -> ApiError:
    """Return any error as one of ours; an unknown one says nothing of itself."""
    match error:
        case ApiError():
            return error
        case exceptions.ValidationError():
            return _of_validation(error)
        case exceptions.APIException():
            return _of_framework(error)
        case Http404():
            return NotFound("There is nothing here, or not for you.")
        case PermissionDenied():
            return NotAllowed("You may not do this.")
        case OperationalError() if FULL_DATABASE.is_cause_of(error):
            return Unavailable(full_database.SENTENCE, hint=full_database.HINT)
        case OperationalError() | InterfaceError():
            return Unavailable(
                "The database has no answer for us right now.", hint="Send the request again."
            )
        case RequestDataTooBig():
            return TooLarge("The body is larger than this address takes.")
        case SuspiciousOperation():
            return InvalidInput("The form has too many fields or files.", code="malformed_body")
    return InternalError("Something broke on our side; the request was not completed.")


def _of_framework(error: exceptions.APIException) -> ApiError:
    detail = str(error.detail)
    match error:
        case exceptions.NotAuthenticated() | exceptions.AuthenticationFailed():
            return Unauthenticated(detail, hint="Send `Authorization: Bearer <API key>`.")
        case exceptions.MethodNotAllowed():
            return ApiError(detail, code="method_not_allowed")
        case exceptions.Throttled():
            return TooMany(detail)
        case exceptions.UnsupportedMediaType():
            return ApiError(
                detail,
                code="unsupported_media_type",
                hint="Send JSON with `Content-Type: application/json`.",
            )
        case exceptions.NotAcceptable():
            return ApiError(detail, code="not_acceptable", hint="Answers are JSON.")
        case exceptions.NotFound():
            return NotFound("There is nothing here, or not for you.")
        case exceptions.PermissionDenied():
            return NotAllowed(detail)
        case exceptions.ParseError():
            return InvalidInput(detail, code="malformed_body")
    return ApiError(detail, code=str(error.default_code))


def _of_validation(error: exceptions.ValidationError) -> InvalidInput:
    entries = list(_flat(error.detail))
    codes = {detail.code for _, detail in entries}
    return InvalidInput(
        " ".join(_sentence(path, detail) for path, detail in entries),
        code="unknown_field" if "unknown_field" in codes else None,
        fields=list(dict.fromkeys(path for path, _ in entries if path)),
    )


def _flat(detail: Any, path: str = "") -> Iterator[tuple[str, exceptions.ErrorDetail]]:
    if isinstance(detail, Mapping):
        for key, inner in detail.items():
            yield from _flat(inner, _path_of(path, key))
    elif isinstance(detail, list):
        for index, inner in enumerate(detail):
            nested = isinstance(inner, Mapping)
            yield from _flat(inner, f"{path}[{index}]" if nested and inner else path)
    else:
        yield path, detail


def _path_of(path: str, key: Any) -> str:
    if key == "non_field_errors":
        return path
    return f"{path}[{key}]" if isinstance(key, int) else f"{path}.{key}".lstrip(".")


_WORDS = {
    "required": "`{path}` is required.",
    "null": "`{path}` may not be null.",
    "blank": "`{path}` may not be empty.",
}


def _sentence(path: str, detail: exceptions.ErrorDetail) -> str:
    if detail.code in _WORDS:
        return _WORDS[detail.code].format(path=path)
    return f"`{path}`: {detail}" if path and detail.code != "unknown_field" else str(detail)


def _log_failure(error: Exception, known: ApiError, context: Mapping[str, Any]) -> str:
    request_id = new_id(12)
    known.hint = f"Tell an administrator the request id `{request_id}`; the log has the cause."
    view = type(context.get("view")).__name__
    _log.error("request %s failed in %s", request_id, view, exc_info=error)
    return request_id
