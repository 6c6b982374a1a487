"""Identifiers of rows: short, random, safe in a URL and on the telephone."""

import secrets

_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"


def new_id(length: int = 8) -> str:
    """Return a random identifier of lower-case letters and digits without look-alikes."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(length))


def new_replica_id() -> str:
    """Return an identifier of five characters, as the hosted product gives replicas."""
    return new_id(5)
