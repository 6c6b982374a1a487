"""A request's body, checked against the fields of its route."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_core import ErrorDetails, from_json
from starlette.requests import Request

from workers.engine.errors import RequestRefused

WORDS = {"model_type": "should be an object", "frozen_set_type": "should be a list"}
"""Where pydantic's own would not help a client."""
HALF_PAIR = re.compile(r"\\u[dD][89a-fA-F]")
"""Every half of a pair is written so, and most of these belong to whole ones."""
LONE_HALF = re.compile("[\ud800-\udfff]")
MOST_CHARACTERS = 60
"""Of a wrong value that is repeated to its sender."""


class Body(BaseModel):
    """An object of a request: unknown fields pass, and null is as good as nothing."""

    model_config = ConfigDict(extra="allow", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, sent: object) -> object:
        if not isinstance(sent, Mapping):
            return sent
        return {name: value for name, value in sent.items() if value is not None}


Fields = TypeVar("Fields", bound=Body)


async def read_body(kind: type[Fields], request: Request) -> Fields:
    """Give back the checked body. Raises: `RequestRefused` that names the first bad field."""
    return check_body(kind, await read_object(request))


async def read_object(request: Request) -> dict[str, Any]:
    """Give back the body as it was sent. Raises: `RequestRefused` for what is no JSON object."""
    return parse_object(await request.body())


def parse_object(content: bytes) -> dict[str, Any]:
    """Give back a JSON object. Raises: `RequestRefused` for what is none."""
    try:
        sent = from_json(content)  # which takes no half of a surrogate pair
    except ValueError:
        return _parse_closely(content)
    if not isinstance(sent, dict):
        raise RequestRefused(f"The body is a JSON {_kind(sent)}; send an object.")
    return sent


def _parse_closely(content: bytes) -> dict[str, Any]:
    try:
        text = content.decode("utf-8-sig")
        sent = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RequestRefused(f"The body is not JSON: {error}.") from None
    if not isinstance(sent, dict):
        raise RequestRefused(f"The body is a JSON {_kind(sent)}; send an object.")
    if HALF_PAIR.search(text) and (field := _half_pair(sent)):
        raise RequestRefused(
            f"`{field}` holds half a surrogate pair, which is no character.", field=field
        )
    return sent


def check_body(kind: type[Fields], sent: Mapping[str, Any]) -> Fields:
    """Give back the fields. Raises: `RequestRefused` that names the first bad one."""
    try:
        return kind.model_validate(sent)
    except ValidationError as error:
        details = _most_precise(error.errors(), sent)
        field = _path(details, sent)
        message = WORDS.get(details["type"]) or details["msg"].removeprefix("Value error, ")
        raise RequestRefused(f"`{field}`: {message}{_value(details)}.", field=field) from None


def _half_pair(sent: Any) -> str | None:
    """The place of a text that no tokenizer and no answer could hold."""
    left = [("", sent)]
    while left:
        place, value = left.pop()
        if isinstance(value, Mapping):
            left += [(place or ".body", name) for name in value]
        if isinstance(value, Mapping | list):
            parts = value.items() if isinstance(value, Mapping) else enumerate(value)
            left += [(f"{place}.{name}", part) for name, part in parts]
        elif isinstance(value, str) and LONE_HALF.search(value):
            return place.removeprefix(".").encode(errors="replace").decode()
    return None


def _kind(sent: object) -> str:
    return "array" if isinstance(sent, list) else f"value ({json.dumps(sent)[:MOST_CHARACTERS]})"


def _most_precise(errors: list[ErrorDetails], sent: object) -> ErrorDetails:
    """Of the first bad field, what reaches deepest: each form that it may have tells its own."""
    of_first = [each for each in errors if each["loc"][:1] == errors[0]["loc"][:1]]
    return max(of_first, key=lambda each: _path(each, sent).count("."))


def _path(error: ErrorDetails, sent: object) -> str:
    return ".".join(_parts(error, sent))


def _parts(error: ErrorDetails, at: Any) -> Iterator[str]:
    """The way through what was sent, without the names of the forms that were tried."""
    for part in error["loc"]:
        is_place = isinstance(at, list) and isinstance(part, int)
        if is_place or (isinstance(at, Mapping) and part in at):
            at = at[part]
            yield str(part)
        elif error["type"] == "missing" and part == error["loc"][-1]:
            yield str(part)


def _value(error: ErrorDetails) -> str:
    if error["type"] == "missing" or isinstance(error["input"], Mapping | list):
        return ""
    written = json.dumps(error["input"], default=str)  # escaped: it may hold half a character
    cut = written if len(written) <= MOST_CHARACTERS else f"{written[:MOST_CHARACTERS]}…"
    return f"; {cut} was sent"
