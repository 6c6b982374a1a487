"""Checks a request's body against the fields of its route."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from workers.engine.errors import RequestRefused

MOST_CHARACTERS = 60
"""Of a wrong value that is repeated to its sender."""

Fields = TypeVar("Fields", bound=BaseModel)


def validate(kind: type[Fields], body: Mapping[str, Any]) -> Fields:
    """Give back the checked body. Raises: `RequestRefused` that names the first bad field."""
    try:
        return kind.model_validate(body)
    except ValidationError as error:
        found = _most_precise(error.errors(), body)
        field = _path(found, body)
        message = found["msg"].removeprefix("Value error, ")
        raise RequestRefused(f"`{field}`: {message}{_sent(found)}.", field=field) from None


def _most_precise(errors: Sequence[ErrorDetails], body: Mapping[str, Any]) -> ErrorDetails:
    """Of the first bad field, what reaches deepest: each form that it may have tells its own."""
    of_first = [each for each in errors if each["loc"][:1] == errors[0]["loc"][:1]]
    return max(of_first, key=lambda each: _path(each, body).count("."))


def _path(error: ErrorDetails, body: Mapping[str, Any]) -> str:
    return ".".join(_parts(error, body))


def _parts(error: ErrorDetails, body: Any) -> Iterator[str]:
    """The way through what was sent, without the names of the forms that were tried."""
    for part in error["loc"]:
        if _holds(body, part):
            body = body[part]
            yield str(part)
    if error["type"] == "missing":
        yield str(error["loc"][-1])


def _holds(body: Any, part: int | str) -> bool:
    if isinstance(body, Mapping):
        return part in body
    return isinstance(body, list) and isinstance(part, int)


def _sent(error: ErrorDetails) -> str:
    value = error["input"]
    if error["type"] == "missing" or isinstance(value, Mapping | list):
        return ""
    written = json.dumps(value, default=str)  # escaped: it may hold half a character
    cut = written if len(written) <= MOST_CHARACTERS else f"{written[:MOST_CHARACTERS]}…"
    return f"; {cut} was sent"
