"""Random secrets that are shown once, and the hash that is kept of them."""

import hashlib
import secrets

from apps.rest.fresh_secrets import note_secret


def new_secret() -> str:
    """Return 256 random bits as 43 characters that are safe in a URL and a header."""
    return note_secret(secrets.token_urlsafe(32))


def sha256_hex(text: str) -> str:
    """Return the hash kept of a secret of full entropy; passwords need Argon2 instead."""
    return hashlib.sha256(text.encode()).hexdigest()


def session_key_kept(session_key: str) -> str:
    """Return what a session is kept under: of the hash, as much as Django's column takes."""
    return sha256_hex(session_key)[:40]
