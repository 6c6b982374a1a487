"""Seeds of authenticator apps, as the rotation of the key ring sees them."""

from apps.accounts.key_ring import KeyRing, KeyRingError
from apps.accounts.models import Authenticator


def authenticators_reseal(ring: KeyRing) -> None:
    """Put every seed that opens under the ring's newest key."""
    for device in Authenticator.objects.exclude(key__startswith=f"{ring.primary}:"):
        try:
            key = device.sealed_by(ring)
        except KeyRingError:
            continue
        Authenticator.objects.filter(id=device.id, key=device.key).update(key=key)


def authenticator_key_ids() -> frozenset[str]:
    return frozenset(each.key_id for each in Authenticator.objects.only("key") if each.is_sealed)


def authenticators_are_sealed() -> bool:
    return bool(Authenticator.objects.filter(key__contains=":").exists())
