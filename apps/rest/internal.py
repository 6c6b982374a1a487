"""Plain JSON views for our own processes under /internal/v1: small, bearer only, sized bodies."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import TypeVar

from django.core.exceptions import RequestDataTooBig
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponseBase, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from pydantic import BaseModel, ValidationError

from controlplane.full_database import FULL_DATABASE, SENTENCE

Body = TypeVar("Body", bound=BaseModel)
View = Callable[..., HttpResponseBase]
LARGEST_BODY_BYTES = 2_000_000
_MOST_DIGITS = 100


class InternalRefusal(Exception):
    """Ends the request with `status` and the one error body."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        fields: Sequence[str] = (),
        hint: str | None = None,
        details: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.fields = tuple(fields)
        self.hint = hint
        self.details = details


def internal_view(method: str) -> Callable[[View], View]:
    """Return a decorator that answers refusals as JSON and every other method with 405."""

    def decorate(view: View) -> View:
        @csrf_exempt
        @wraps(view)
        def answer(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
            if request.method != method:
                return _refused(InternalRefusal(405, "method_not_allowed", f"Send {method}."))
            try:
                return view(request, *args, **kwargs)
            except InternalRefusal as refusal:
                return _refused(refusal)
            except (InterfaceError, OperationalError) as error:
                return _without_database(is_full=FULL_DATABASE.is_cause_of(error))

        return answer

    return decorate


def bearer(request: HttpRequest) -> str:
    """Return the text after `Bearer`. Raises InternalRefusal."""
    scheme, _, text = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not text.strip():
        raise InternalRefusal(401, "unauthenticated", "Send `Authorization: Bearer <credential>`.")
    return text.strip()


def read_body(request: HttpRequest, shape: type[Body]) -> Body:
    """Return the JSON body in `shape`. Raises InternalRefusal with the fields that are wrong."""
    content = _content(request)
    try:
        return shape.model_validate_json(content)
    except ValidationError as error:
        raise _invalid(error) from None


def read_body_of_records(request: HttpRequest, shape: type[Body]) -> Body:
    """Return the JSON body in `shape`, whatever the texts and numbers within are like.

    A reader of `read_body` refuses all for half a surrogate pair or too long a number in a part.
    Raises InternalRefusal with the fields that are wrong.
    """
    try:
        return shape.model_validate(json.loads(_content(request), parse_int=_whole_number))
    except ValidationError as error:
        raise _invalid(error) from None
    except (ValueError, RecursionError) as error:
        raise InternalRefusal(400, "invalid_body", f"body: no JSON: {error}") from None


def _content(request: HttpRequest) -> bytes:
    try:
        if int(request.headers.get("Content-Length") or 0) > LARGEST_BODY_BYTES:
            raise RequestDataTooBig
        return request.body
    except RequestDataTooBig:
        raise InternalRefusal(
            413, "too_large", f"The body is larger than {LARGEST_BODY_BYTES} bytes."
        ) from None


def _whole_number(digits: str) -> int | float:
    # Python itself reads none of more than 4,300 digits.
    return int(digits) if len(digits) <= _MOST_DIGITS else float(digits)


def _invalid(error: ValidationError) -> InternalRefusal:
    wrong = "; ".join(
        f"{'.'.join(map(str, each['loc'])) or 'body'}: {each['msg']}"
        for each in error.errors(include_input=False)[:8]
    )
    return InternalRefusal(400, "invalid_body", wrong)


def _refused(refusal: InternalRefusal) -> JsonResponse:
    body: dict[str, object] = {"code": refusal.code, "message": str(refusal)}
    body.update(fields=list(refusal.fields), hint=refusal.hint, source=None)
    if refusal.details is not None:
        body["details"] = refusal.details
    return JsonResponse(body, status=refusal.status)


def _without_database(*, is_full: bool) -> JsonResponse:
    words = SENTENCE if is_full else "The database has no answer for us right now."
    answer = _refused(InternalRefusal(503, "unavailable", words))
    answer["Retry-After"] = "2"
    return answer
