"""Re-encryption of every secret under a new key, in batches, readable throughout."""

from collections.abc import Callable
from dataclasses import dataclass

from django.conf import settings

from apps.secrets.key_ring import KeyRing, key_ring_rotate
from apps.secrets.models import Secret
from apps.secrets.services.values import binding, key_ring_prepare, sealed_of

BATCH_ROWS = 200


@dataclass(frozen=True, kw_only=True)
class Rotation:
    """What one run did."""

    key_id: str
    resealed: int


def secret_rotate(*, on_progress: Callable[[int], None] = lambda done: None) -> Rotation:
    """Return the new primary key's id and how many values it seals now.

    A run that was interrupted leaves some rows under an older key, which the ring keeps; the next
    run takes them along. A value that changes meanwhile is sealed by its writer, not by us.
    """
    key_ring_prepare()
    in_use = frozenset(Secret.objects.values_list("key_id", flat=True).distinct())
    ring = key_ring_rotate(settings.KEY_RING_FILE, still_used=in_use)
    resealed = 0
    while batch := list(Secret.objects.exclude(key_id=ring.primary).order_by("id")[:BATCH_ROWS]):
        resealed += sum(_reseal(secret, ring) for secret in batch)
        on_progress(resealed)
    return Rotation(key_id=ring.primary, resealed=resealed)


def _reseal(secret: Secret, ring: KeyRing) -> int:
    bound_to = binding(secret.team_id, secret.name)
    value = ring.open(sealed_of(secret), bound_to=bound_to)
    sealed = ring.seal(value, bound_to=bound_to)
    unchanged = Secret.objects.filter(id=secret.id, key_id=secret.key_id, nonce=secret.nonce)
    return unchanged.update(key_id=sealed.key_id, nonce=sealed.nonce, ciphertext=sealed.ciphertext)
