"""Bearer texts of nodes and gateways: 256 random bits, of which only the hash is kept."""

import secrets
from hashlib import sha256


def new_credential() -> str:
    """Return a fresh bearer text."""
    return secrets.token_urlsafe(32)


def hash_of(credential: str) -> str:
    """Return what is stored of a bearer text."""
    return sha256(credential.encode()).hexdigest()
