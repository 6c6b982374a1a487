"""A request's body as a JSON object."""

import json
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request

from workers.engine.errors import RequestRefused


async def read_body(request: Request) -> Mapping[str, Any]:
    """Give back the object that was sent. Raises: `RequestRefused`."""
    try:
        body = json.loads(await request.body())
    except ValueError as error:
        raise RequestRefused(f"The body is not JSON: {error}.") from None
    if not isinstance(body, dict):
        kind = "array" if isinstance(body, list) else f"value ({json.dumps(body)[:60]})"
        raise RequestRefused(f"The body is a JSON {kind}; send an object.")
    return body
