"""Signatures of webhooks, so that who gets one can tell who sent it.

Source: Standard Webhooks, specification 1.0, "Signature scheme", read 2026-11-30.
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping

_PREFIX = "whsec_"


def signed_headers(
    *, message_id: str, timestamp: int, body: bytes, secret: str
) -> Mapping[str, str]:
    """Return the headers that carry id, time and signature; without a secret none signs."""
    headers = {"webhook-id": message_id, "webhook-timestamp": str(timestamp)}
    if secret:
        signed = f"{message_id}.{timestamp}.".encode() + body
        digest = hmac.new(_key(secret), signed, hashlib.sha256).digest()
        headers["webhook-signature"] = f"v1,{base64.b64encode(digest).decode()}"
    return headers


def _key(secret: str) -> bytes:
    """Return the key of `whsec_<base64>`; any other text is its own bytes."""
    text = secret.strip()
    if text.startswith(_PREFIX):
        try:
            return base64.b64decode(text.removeprefix(_PREFIX), validate=True)
        except binascii.Error:
            pass
    return text.encode()
