"""A team's secrets found in text, and taken out of it, on the hosts that can open them."""

from collections.abc import Iterator

from django.conf import settings

from apps.accounts.models import Team
from apps.secrets.key_ring import key_ring_load
from apps.secrets.models import Secret
from apps.secrets.services.values import binding, sealed_of
from controlplane.domain.redaction import Redactor

_SHORTEST_TELLING = 12
"""A shorter value may stand in a text by chance."""


def secret_standing_in(*, team: Team, text: str) -> str | None:
    """Return the name of a secret of the team whose value stands in a text that is to be kept.

    Raises KeyRingError where they cannot be opened.
    """
    for name, value in _values(team):
        if len(value.strip()) >= _SHORTEST_TELLING and Redactor([value]).holds_known(text):
            return name
    return None


def secret_redactor(*, team: Team) -> Redactor:
    """Return what knows every value of the team; that is no use of them.

    Raises KeyRingError where they cannot be opened.
    """
    return Redactor(value for _name, value in _values(team))


def _values(team: Team) -> Iterator[tuple[str, str]]:
    stored = list(Secret.objects.filter(team=team))
    if not stored:
        return
    ring = key_ring_load(settings.KEY_RING_FILE)
    for secret in stored:
        bound_to = binding(team.id, secret.name)
        yield secret.name, ring.open(sealed_of(secret), bound_to=bound_to)
