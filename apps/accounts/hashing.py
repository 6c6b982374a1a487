"""Random secrets that are shown once, and the hash that is kept of them."""

import hashlib
import secrets
from base64 import b32encode

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


def new_recovery_code() -> str:
    """Return 80 random bits as 16 letters and digits in groups, to be typed."""
    text = b32encode(secrets.token_bytes(10)).decode().lower()
    return note_secret("-".join(text[start : start + 4] for start in range(0, 16, 4)))


def recovery_code_kept(code: str) -> str:
    """Return what a recovery code is kept as: of the hash, as much as the column takes.

    Groups, blanks and case make no difference.
    """
    plain = "".join(each for each in code.lower() if each.isalnum())
    return b32encode(hashlib.sha256(plain.encode()).digest()[:10]).decode().lower()
