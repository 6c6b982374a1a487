"""Bearer texts of nodes and gateways: 256 random bits, of which only the hash is kept."""

from hashlib import sha256

from apps.accounts.hashing import new_secret


def new_credential() -> str:
    """Return a fresh bearer text."""
    return new_secret()


def hash_of(credential: str) -> str:
    """Return what is stored of a bearer text."""
    return sha256(credential.encode()).hexdigest()
