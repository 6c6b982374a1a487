"""Asks a whole answer whether it holds to a schema."""

import json
from collections.abc import Mapping
from typing import Any

from jsonschema_rs import ValidationError, validator_for

from workers.engine.errors import RequestRefused

MOST_CHARACTERS = 300
"""Of a reason: it may repeat a long answer."""


class SchemaCheck:
    """A schema that was read, formats included; what it refers to must stand in itself."""

    def __init__(self, schema: Mapping[str, Any], *, field: str) -> None:
        self.field = field
        try:
            self._validator = validator_for(
                dict(schema), validate_formats=True, retriever=_fetch_nothing
            )
        except (ValueError, RecursionError) as error:
            reason = str(error).partition("\n")[0]
            raise RequestRefused(
                f"`{field}`: this schema cannot be held to: {reason}", field=field
            ) from None

    def fault(self, text: str) -> str | None:
        try:
            self._validator.validate(json.loads(text))
        except ValidationError as error:
            place = "".join(f".{part}" for part in error.instance_path)
            reason = error.message[:MOST_CHARACTERS]
            return f"at `{place.removeprefix('.')}`: {reason}" if place else reason
        except (ValueError, RecursionError) as error:
            return f"it is not JSON: {error}"
        return None


def _fetch_nothing(uri: str) -> Any:
    raise ValueError(f"`{uri}` stands outside of the schema, and nothing is fetched")
