"""Reading of request bodies: JSON of a bounded size and depth."""

import io
import json
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser

from apps.rest.errors import TooLarge


class BoundedJSONParser(JSONParser):
    """The framework's parser reads a body of any length into memory; this one does not."""

    def parse(
        self,
        stream: Any,
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        content = stream.read(limit + 1)
        if len(content) > limit:
            raise TooLarge(f"The body is larger than {limit // 1000:,} kB.")
        try:
            return json.load(io.BytesIO(content), parse_constant=_refuse)
        except RecursionError:
            raise ParseError("The body is nested too deeply.") from None
        except ValueError as error:
            raise ParseError(f"The body is not JSON: {error}.") from None


def _refuse(constant: str) -> None:
    raise ValueError(f"`{constant}` is not a JSON number")
