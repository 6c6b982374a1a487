"""A team's secrets found in text, and taken out of it, on the hosts that can open them."""

from collections.abc import Iterable, Iterator

from django.conf import settings

from apps.accounts.key_ring import KeyRing, KeyRingError, Sealed, key_ring_load
from apps.accounts.models import Team
from apps.secrets.models import Secret
from apps.secrets.services.values import binding, sealed_of
from controlplane.domain.redaction import Redactor

_SEALED = ("id", "team_id", "name", "key_id", "nonce", "ciphertext")
_SHORTEST_TELLING = 12
"""A shorter value may stand in a text by chance."""


def secret_in(*, team: Team, text: str) -> str | None:
    """Return the name of a secret of the team whose value stands in a text that is to be kept.

    Raises KeyRingError without a ring; what the ring does not open cannot be looked for.
    """
    for name, value in _values(team):
        if len(value.strip()) >= _SHORTEST_TELLING and Redactor([value]).holds_known(text):
            return name
    return None


def secret_redactor(*, team: Team) -> Redactor:
    """Return what knows every value of the team that opens; that is no use of them.

    Raises KeyRingError without a ring.
    """
    return Redactor(value for _name, value in _values(team))


def unreadable_secrets(secrets: Iterable[Secret]) -> frozenset[str]:
    ids = [secret.id for secret in secrets]
    if not ids:
        return frozenset()
    try:
        ring = key_ring_load(settings.KEY_RING_FILE)
    except KeyRingError:
        return frozenset(ids)
    columns = Secret.objects.filter(id__in=ids).values_list(*_SEALED)
    return frozenset(id for id, *sealed in columns if not _opens(ring, *sealed))


def _opens(
    ring: KeyRing, team_id: str, name: str, key_id: str, nonce: bytes, ciphertext: bytes
) -> bool:
    sealed = Sealed(key_id=key_id, nonce=bytes(nonce), ciphertext=bytes(ciphertext))
    try:
        ring.open(sealed, bound_to=binding(team_id, name))
    except KeyRingError:
        return False
    return True


def _values(team: Team) -> Iterator[tuple[str, str]]:
    stored = list(Secret.objects.filter(team=team))
    if not stored:
        return
    ring = key_ring_load(settings.KEY_RING_FILE)
    for secret in stored:
        # One that does not open blocks its own use, and nothing of the team's besides.
        if (value := _opened(secret, ring)) is not None:
            yield secret.name, value


def _opened(secret: Secret, ring: KeyRing) -> str | None:
    try:
        return ring.open(sealed_of(secret), bound_to=binding(secret.team_id, secret.name))
    except KeyRingError:
        return None
