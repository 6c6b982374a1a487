"""Bearer texts of nodes and gateways: 256 random bits, of which only the hash is kept."""

from hashlib import sha256

from apps.accounts.hashing import new_secret


def new_credential() -> str:
    return new_secret()


def hash_of(credential: str) -> str:
    return sha256(credential.encode()).hexdigest()
