"""The keys that seal secrets and seeds: a file of mode 0600 on the web hosts, and nowhere else.

The first key is made with the first start. Rotation adds a key and makes it the primary one; an
older key goes once nothing is sealed by it.
"""

import base64
import fcntl
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from apps.rest.errors import InternalError

_FORMAT = 1
_KEY_BITS = 256
_NONCE_BYTES = 12
_SUFFIX_BYTES = 4
"""Of a file that is not yet whole; as long a suffix as no other file beside the ring has."""


class KeyRingError(InternalError):
    """The ring is missing, unreadable, or not the one that sealed a value."""

    code = "key_ring"


@dataclass(frozen=True, kw_only=True)
class Sealed:
    """An encrypted value and what opens it."""

    key_id: str
    nonce: bytes
    ciphertext: bytes


@dataclass(frozen=True, kw_only=True)
class KeyRing:
    """Keys by id; `primary` seals, all of them open."""

    primary: str
    keys: Mapping[str, bytes] = field(repr=False)

    def seal(self, value: str, *, bound_to: str) -> Sealed:
        """Return the value encrypted so that it opens only for the same `bound_to`."""
        return self.seal_bytes(value.encode(), bound_to=bound_to)

    def seal_bytes(self, value: bytes, *, bound_to: str) -> Sealed:
        nonce = secrets.token_bytes(_NONCE_BYTES)
        cipher = AESGCM(self.keys[self.primary])
        ciphertext = cipher.encrypt(nonce, value, bound_to.encode())
        return Sealed(key_id=self.primary, nonce=nonce, ciphertext=ciphertext)

    def open(self, sealed: Sealed, *, bound_to: str) -> str:
        """Return the value. Raises KeyRingError when this ring did not seal it for `bound_to`."""
        try:
            return self.open_bytes(sealed, bound_to=bound_to).decode()
        except UnicodeDecodeError:
            raise KeyRingError("A stored secret opens and is no text.") from None

    def open_bytes(self, sealed: Sealed, *, bound_to: str) -> bytes:
        key = self.keys.get(sealed.key_id)
        if key is None:
            raise KeyRingError(f"The key ring has no key `{sealed.key_id}`; restore its file.")
        try:
            return AESGCM(key).decrypt(sealed.nonce, sealed.ciphertext, bound_to.encode())
        except (InvalidTag, ValueError, OverflowError):  # a nonce that is none is a ValueError
            raise KeyRingError("A stored secret does not open: its row was changed.") from None


def key_ring_load(path: Path) -> KeyRing:
    """Return the ring in the file. Raises KeyRingError."""
    try:
        content = json.loads(path.read_text(encoding="ascii"))
        keys = {name: _key_in(text) for name, text in content["keys"].items()}
        ring = KeyRing(primary=content["primary"], keys=keys)
    except FileNotFoundError:
        raise KeyRingError(
            f"There is no key ring at `{path}` on this host.",
            hint="Only web hosts hold it; set KEY_RING_FILE there, or copy the file from another.",
        ) from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise KeyRingError(f"The key ring at `{path}` cannot be read: {error}.") from None
    if content.get("format") != _FORMAT or ring.primary not in ring.keys:
        raise KeyRingError(f"The key ring at `{path}` is of another format.")
    return ring


def key_ring_ensure(path: Path) -> KeyRing:
    with _locked(path):
        if not path.exists():
            name, key = _new_key()
            _write(path, KeyRing(primary=name, keys={name: key}))
    return key_ring_load(path)


def key_ring_rotate(path: Path) -> KeyRing:
    """Return the ring with a new primary key; the older ones still open what they sealed."""
    with _locked(path):
        ring = key_ring_load(path)
        name, key = _new_key()
        rotated = replace(ring, primary=name, keys={**ring.keys, name: key})
        _write(path, rotated)
    return rotated


def key_ring_retire(path: Path, *, still_used: frozenset[str]) -> KeyRing:
    """Return the ring without the older keys that are not among those `still_used`."""
    with _locked(path):
        ring = key_ring_load(path)
        kept = {n: key for n, key in ring.keys.items() if n in still_used or n == ring.primary}
        if len(kept) == len(ring.keys):
            return ring
        retired = replace(ring, keys=kept)
        _write(path, retired)
    return retired


def _key_in(text: str) -> bytes:
    key = base64.b64decode(text, validate=True)
    if len(key) * 8 != _KEY_BITS:
        raise ValueError(f"a key has {len(key) * 8} bits instead of {_KEY_BITS}")
    return key


def _new_key() -> tuple[str, bytes]:
    return f"k{secrets.token_hex(6)}", AESGCM.generate_key(_KEY_BITS)


def _write(path: Path, ring: KeyRing) -> None:
    content = {
        "format": _FORMAT,
        "primary": ring.primary,
        "keys": {name: base64.b64encode(key).decode() for name, key in ring.keys.items()},
    }
    _remove_unfinished(path)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(_SUFFIX_BYTES)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        json.dump(content, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    _make_durable(path.parent)


def _remove_unfinished(path: Path) -> None:
    """Take away what a killed writer left: it holds every key, retired ones too."""
    for left in path.parent.glob(f".{path.name}.{'?' * 2 * _SUFFIX_BYTES}"):
        left.unlink()


def _make_durable(folder: Path) -> None:
    """Let the new name outlive a crash, or rows sealed by a new key would outlive the key."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    lock = os.open(path.with_name(f".{path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)
