"""What is the same in every usage record of one kind of request: whose it is, and where it goes."""

import json
from functools import lru_cache

_LONGEST_ROUTE = 200


@lru_cache(maxsize=4096)
def usage_fields(
    model_id: str,
    deployment_id: str,
    environment: str | None,
    key_id: str,
    route: str,
    is_extra_route: bool,
    traffic_mark: str,
) -> bytes:
    fields = {
        "model_id": model_id,
        "deployment_id": deployment_id,
        "environment": environment,
        "key_id": key_id,
        "route": route[:_LONGEST_ROUTE],
        "is_extra_route": is_extra_route,
    }
    if traffic_mark:
        fields["traffic_mark"] = traffic_mark
    return json.dumps(fields, separators=(",", ":"))[1:-1].encode()


@lru_cache(maxsize=4096)
def text_or_null(value: str | None) -> bytes:
    return json.dumps(value).encode()
