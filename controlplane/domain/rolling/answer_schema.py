import json
from collections.abc import Callable, Mapping
from typing import Any

from jsonschema_rs import ValidationError, validator_for


class SchemaProblem(ValueError):
    """The schema cannot be held to; the text says why."""


def schema_check(schema: Mapping[str, Any]) -> Callable[[str], bool]:
    """Return what tells whether a text is valid. Raises SchemaProblem."""
    try:
        validator = validator_for(dict(schema), retriever=_fetch_nothing)
    except (ValueError, RecursionError) as error:
        raise SchemaProblem(str(error).partition("\n")[0][:300]) from None

    def holds(text: str) -> bool:
        try:
            validator.validate(json.loads(text))
        except (ValidationError, ValueError, RecursionError):
            return False
        return True

    return holds


def _fetch_nothing(uri: str) -> Any:
    raise ValueError(f"`{uri}` stands outside of the schema, and nothing is fetched")
