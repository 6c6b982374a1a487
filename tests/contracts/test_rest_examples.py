"""Every body of the OpenAPI document has an example that its own schema lets pass."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

import jsonschema
import pytest

from apps.rest.specification import document

BINARY = {"application/zip", "application/x-tar"}
"""What text cannot show."""
FORMATS = jsonschema.FormatChecker()
FORMATS.checks("date-time", raises=(ValueError, TypeError))(datetime.fromisoformat)


@dataclass(frozen=True, kw_only=True)
class Body:
    """One body that an operation takes or answers."""

    place: str
    media_type: str
    content: Any

    @property
    def examples(self) -> list[Any]:
        return [each["value"] for each in self.content.get("examples", {}).values()]


def bodies() -> Iterator[Body]:
    for path, methods in document()["paths"].items():
        for method, operation in methods.items():
            places = {"request": operation.get("requestBody", {}), **operation["responses"]}
            for name, place in places.items():
                for media_type, content in place.get("content", {}).items():
                    yield Body(
                        place=f"{method} {path} {name}", media_type=media_type, content=content
                    )


def test_every_body_has_an_example() -> None:
    without = [
        body.place for body in bodies() if body.media_type not in BINARY and not body.examples
    ]
    assert without == []


def test_every_example_is_what_its_schema_says() -> None:
    wrong = [
        f"{body.place}: {error.json_path}: {error.message[:200]}"
        for body in bodies()
        for example in body.examples
        for error in validator_of(body.content["schema"]).iter_errors(example)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("example", "complaint"),
    [
        ({"name": 1, "default": True, "created_at": "2026-11-27T10:00:00Z"}, "string"),
        ({"name": "a", "default": True, "created_at": "yesterday"}, "date-time"),
        ({"name": "a", "default": True}, "created_at"),
        ({"name": "a", "default": True, "created_at": "2026-11-27T10:00:00Z", "x": 1}, "x"),
    ],
)
def test_an_example_that_is_not_would_be_noticed(example: Any, complaint: str) -> None:
    team = validator_of({"$ref": "#/components/schemas/TeamObject"})
    (error,) = team.iter_errors({"id": "k7m2p9qx", **example})
    assert complaint in error.message


def test_only_files_and_empty_answers_have_no_body_of_text() -> None:
    assert {body.media_type for body in bodies()} - BINARY == {
        "application/json",
        "multipart/form-data",
        "text/csv",
        "application/x-ndjson",
    }


def validator_of(schema: Any) -> Any:
    """Return a validator of a schema of the document, with no field that it does not name."""
    whole = {**_plain(schema), "components": _components()}
    return jsonschema.Draft7Validator(whole, format_checker=FORMATS)


@cache
def _components() -> Any:
    return _plain(document()["components"])


def _plain(schema: Any) -> Any:
    """Return OpenAPI 3.0 in the words of JSON Schema; `nullable` is what they do not share."""
    if isinstance(schema, list):
        return [_plain(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    plain = {name: _plain(value) for name, value in schema.items() if name != "nullable"}
    if isinstance(plain.get("properties"), dict) and plain.get("type") == "object":
        plain.setdefault("additionalProperties", False)
    if schema.get("nullable") is True:
        return {"anyOf": [plain, {"type": "null"}]}
    return plain
