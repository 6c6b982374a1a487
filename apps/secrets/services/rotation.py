"""Re-encryption of every secret under a new key, in batches, readable throughout."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from django.conf import settings
from django.db import connection, transaction

from apps.accounts.audit.recording import audit
from apps.accounts.key_ring import (
    KeyRing,
    KeyRingError,
    key_ring_load,
    key_ring_retire,
    key_ring_rotate,
)
from apps.accounts.sealing import KEY_RING_LOCK, key_ring_prepare
from apps.accounts.signing_in.authenticators import authenticator_key_ids, authenticators_reseal
from apps.rest.errors import Conflict
from apps.secrets.models import Secret
from apps.secrets.services.values import binding, sealed_of

BATCH_ROWS = 200
_ROTATION_LOCK = 4_702_111_011


@dataclass(frozen=True, kw_only=True)
class Rotation:
    key_id: str
    resealed: int
    retired: tuple[str, ...]
    """Older keys that seal nothing any more and are out of the ring."""
    unreadable: tuple[str, ...]
    """Secrets that the ring does not open: left as they are, as is their key."""


def secret_rotate(
    *, on_progress: Callable[[int, int], None] = lambda done, total: None
) -> Rotation:
    """Return the new primary key's id and how many values it seals now.

    `on_progress` hears how many are done, of how many. A run that was interrupted leaves some rows
    under an older key, which the ring keeps; the next run takes them along. A value that changes
    meanwhile is sealed by its writer, not by us.

    Raises:
        Conflict: another rotation is running.
    """
    with _alone():
        _tell_beginning(key_ring_prepare())
        ring = key_ring_rotate(settings.KEY_RING_FILE)
        resealed = _reseal_all(ring, on_progress)
        _reseal_the_last(ring)
        # Committed by now: a ring must never be ahead of the rows that it opens.
        retired = _retire()
        _tell(ring, resealed, retired)
    return Rotation(key_id=ring.primary, resealed=resealed, retired=retired, unreadable=_left(ring))


def _tell_beginning(ring: KeyRing) -> None:
    audited = {"key_id": ring.primary, "secrets": Secret.objects.count()}
    audit("key_ring.begin_rotation", ring.primary, team=None, before=audited)


def _tell(ring: KeyRing, resealed: int, retired: Sequence[str]) -> None:
    audited = {"key_id": ring.primary, "resealed": resealed, "retired": list(retired)}
    audit("key_ring.rotate", ring.primary, team=None, after=audited)


def _reseal_all(ring: KeyRing, on_progress: Callable[[int, int], None]) -> int:
    older = Secret.objects.exclude(key_id=ring.primary).order_by("id")
    done, seen, total, last = 0, 0, older.count(), ""
    while batch := list(older.filter(id__gt=last)[:BATCH_ROWS]):
        done += sum(_reseal(secret, ring) for secret in batch)
        seen, last = seen + len(batch), batch[-1].id
        on_progress(seen, max(seen, total))
    return done


def _reseal_the_last(ring: KeyRing) -> None:
    """Take along what was sealed by an older key meanwhile, and the seeds of authenticator apps.

    Whoever reads or writes a secret holds the lock, shared, from the ring to the row: once we had
    it, nobody is left who knows the ring without its newest key.
    """
    with _no_value_in_use():
        for secret in Secret.objects.exclude(key_id=ring.primary):
            _reseal(secret, ring)
        authenticators_reseal(ring)


def _retire() -> tuple[str, ...]:
    """Return the keys that are out of the ring, now that nothing is sealed by them."""
    with _no_value_in_use():
        in_use = authenticator_key_ids().union(Secret.objects.values_list("key_id", flat=True))
        before = key_ring_load(settings.KEY_RING_FILE)
        kept = key_ring_retire(settings.KEY_RING_FILE, still_used=in_use)
    return tuple(sorted(set(before.keys) - set(kept.keys)))


def _left(ring: KeyRing) -> tuple[str, ...]:
    left = Secret.objects.exclude(key_id=ring.primary).order_by("team__name", "name")
    return tuple(f"{name} of {team}" for name, team in left.values_list("name", "team__name"))


def _reseal(secret: Secret, ring: KeyRing) -> int:
    bound_to = binding(secret.team_id, secret.name)
    try:
        value = ring.open(sealed_of(secret), bound_to=bound_to)
    except KeyRingError:
        return 0
    sealed = ring.seal(value, bound_to=bound_to)
    unchanged = Secret.objects.filter(id=secret.id, key_id=secret.key_id, nonce=secret.nonce)
    return unchanged.update(key_id=sealed.key_id, nonce=sealed.nonce, ciphertext=sealed.ciphertext)


@contextmanager
def _no_value_in_use() -> Iterator[None]:
    """Open a transaction beside which nobody reads or writes a value."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            # What was committed must outlive a crash of the database before a key goes.
            cursor.execute("SET LOCAL synchronous_commit TO on")
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [KEY_RING_LOCK])
        yield


@contextmanager
def _alone() -> Iterator[None]:
    """Hold the rotation; the database lets go of it when this process dies.

    Raises:
        Conflict: someone holds it.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [_ROTATION_LOCK])
        if not cursor.fetchone()[0]:
            raise Conflict("Another rotation is running.", hint="Let it end, then run this again.")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [_ROTATION_LOCK])
