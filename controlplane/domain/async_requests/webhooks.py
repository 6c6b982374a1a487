"""What a webhook is sent: the outcome as JSON, and the headers that prove who sends it.

Source: the hosted product's guide to asynchronous inference, "Secure webhooks".
"""

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

SECRET = "webhook_signing_secret"
SECRET_BEFORE = "webhook_signing_secret_previous"
SECRETS = (SECRET, SECRET_BEFORE)
"""The team's secrets that sign, the newer first: both do while one replaces the other."""
RETRIED = frozenset({500, 502, 503, 504})
MOST_ATTEMPTS = 2
RETRY_SECONDS = 2.0


@dataclass(frozen=True, kw_only=True)
class Completed:
    """An outcome, the same in every attempt to deliver it."""

    request_id: str
    model_id: str
    deployment_id: str
    at: datetime
    output: str | None
    """As JSON; None where there is none."""
    errors: Sequence[Mapping[str, str]]


def webhook_body(completed: Completed) -> bytes:
    """Return the body; the same outcome gives the same bytes, so that its signature stays."""
    body = {
        "request_id": completed.request_id,
        "model_id": completed.model_id,
        "deployment_id": completed.deployment_id,
        "type": "async_request_completed",
        "time": f"{completed.at.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}",
        "data": None,
        "errors": [dict(each) for each in completed.errors],
    }
    # The output is JSON already, and may be large.
    front, back = json.dumps(body).split('"data": null', 1)
    return f'{front}"data": {completed.output or "null"}{back}'.encode()


def webhook_headers(request_id: str, body: bytes, secrets: Sequence[str]) -> dict[str, str]:
    """Return the headers; without a secret none signs."""
    headers = {"x-baseten-request-id": request_id}
    if secrets:
        signatures = [hmac.new(each.encode(), body, hashlib.sha256).hexdigest() for each in secrets]
        headers["x-baseten-signature"] = ",".join(f"v1={each}" for each in signatures)
    return headers
