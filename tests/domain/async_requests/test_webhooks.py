"""What a webhook is sent, checked as the hosted product's guide tells receivers to check it."""

import hashlib
import hmac
import json
from datetime import UTC, datetime

from controlplane.domain.async_requests.webhooks import Completed, webhook_body, webhook_headers

DONE = Completed(
    request_id="r1", model_id="m1", deployment_id="d1", at=datetime(2026, 1, 2, tzinfo=UTC),
    output='{"data": null}', errors=[],
)  # fmt: skip


def _verify_signature(body: bytes, signature: str, secret: str) -> bool:
    """As in the guide."""
    expected = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    actual = signature.replace("v1=", "").split(",")[0]
    return hmac.compare_digest(expected, actual)


def test_the_body_is_the_documented_one_and_the_same_each_time() -> None:
    assert webhook_body(DONE) == webhook_body(DONE)
    assert json.loads(webhook_body(DONE)) == {
        "request_id": "r1", "model_id": "m1", "deployment_id": "d1",
        "type": "async_request_completed", "time": "2026-01-02T00:00:00.000000Z",
        "data": {"data": None}, "errors": [],
    }  # fmt: skip


def test_the_newer_secret_signs_first_and_without_one_nothing_does() -> None:
    body = webhook_body(DONE)
    headers = webhook_headers("r1", body, ["whsec_new", "whsec_old"])
    assert headers["x-baseten-request-id"] == "r1"
    newer, older = headers["x-baseten-signature"].split(",")
    assert newer.startswith("v1=")
    assert _verify_signature(body, headers["x-baseten-signature"], "whsec_new")
    assert _verify_signature(body, older, "whsec_old")
    assert webhook_headers("r1", body, []) == {"x-baseten-request-id": "r1"}
