from collections.abc import Collection
from datetime import datetime

from django.conf import settings
from django.db import transaction

from apps.accounts.audit.recording import audit
from apps.accounts.key_ring import KeyRingError, Sealed, key_ring_load
from apps.accounts.models import Team, User
from apps.accounts.sealing import key_ring_prepare, ring_as_it_is
from apps.rest.errors import InvalidInput, NotFound
from apps.secrets.models import Secret
from apps.secrets.names import checked_name, normal_name
from controlplane import clock

LONGEST_VALUE_BYTES = 100_000


def secret_set(
    *,
    team: Team,
    name: str,
    value: str,
    user: User | None = None,
    expires_at: datetime | None = None,
) -> Secret:
    """Return the secret, made or replaced; the value is sealed for this team and name.

    A new value ends when `expires_at` says, or never: the day of the old one went with it.
    """
    name = checked_name(name)
    if not 1 <= len(value.encode()) <= LONGEST_VALUE_BYTES:
        raise InvalidInput(
            f"A secret has between 1 and {LONGEST_VALUE_BYTES:,} bytes.", fields=["value"]
        )
    with ring_as_it_is():
        sealed = key_ring_prepare().seal(value, bound_to=binding(team.id, name))
        secret, is_new = Secret.objects.update_or_create(
            team=team,
            name=name,
            defaults={
                "key_id": sealed.key_id,
                "nonce": sealed.nonce,
                "ciphertext": sealed.ciphertext,
                "updated_by": user,
                "expires_at": _checked_end(expires_at),
            },
        )
        action = "secret.create" if is_new else "secret.replace"
        audit(action, secret, team=team, after=_ends(secret.expires_at))
    return secret


@transaction.atomic
def secret_expire(*, secret: Secret, expires_at: datetime | None) -> Secret:
    """Return the secret, which ends then from now on, or never."""
    before = _ends(secret.expires_at)
    Secret.objects.filter(id=secret.id).update(expires_at=_checked_end(expires_at))
    audit("secret.expire", secret, team=secret.team, before=before, after=_ends(expires_at))
    secret.refresh_from_db(fields=["expires_at"])
    return secret


@transaction.atomic
def secret_delete(*, team: Team, name: str) -> str:
    """Return the name of the deleted secret. Raises NotFound."""
    deleted, _ = Secret.objects.filter(team=team, name=normal_name(name)).delete()
    if not deleted:
        raise NotFound(f"There is no secret `{name}`.")
    audit("secret.delete", normal_name(name), team=team)
    return normal_name(name)


def secret_reveal(*, team: Team, name: str) -> str | None:
    """Return the value, or None where there is none of that name; the use is noted.

    Raises KeyRingError for one that does not open.

    Only the redemption of a live lease may call this: a value goes to a build or a fetch, never
    into an answer to a person.
    """
    with ring_as_it_is():
        secret = Secret.objects.filter(team=team, name=normal_name(name)).first()
        if secret is None:
            return None
        value = _opened(secret)
        Secret.objects.filter(id=secret.id).update(last_used_at=clock.now())
    return value


def secrets_reveal(*, team: Team, names: Collection[str]) -> dict[str, str]:
    """Return the values of those names that the team has; otherwise as `secret_reveal`."""
    values = {name: secret_reveal(team=team, name=name) for name in sorted(names)}
    return {name: value for name, value in values.items() if value is not None}


def binding(team_id: str, name: str) -> str:
    """Return what a sealed value is tied to: a row copied to another name or team stays shut."""
    return f"{team_id}\n{name}"


def sealed_of(secret: Secret) -> Sealed:
    return Sealed(
        key_id=secret.key_id, nonce=bytes(secret.nonce), ciphertext=bytes(secret.ciphertext)
    )


def _opened(secret: Secret) -> str:
    try:
        ring = key_ring_load(settings.KEY_RING_FILE)
        return ring.open(sealed_of(secret), bound_to=binding(secret.team_id, secret.name))
    except KeyRingError as error:
        raise KeyRingError(
            f"The secret `{secret.name}` does not open. {error.message}",
            fields=[f"secrets.{secret.name}"],
            hint=error.hint or "Store its value anew, or restore the key ring.",
        ) from None


def _ends(at: datetime | None) -> dict[str, str | None]:
    return {"expires_at": at.isoformat() if at else None}


def _checked_end(expires_at: datetime | None) -> datetime | None:
    if expires_at is not None and expires_at <= clock.now():
        raise InvalidInput(
            f"{expires_at:%Y-%m-%d %H:%M} UTC is over.",
            fields=["expires_at"],
            hint="Give a moment that is to come, or none.",
        )
    return expires_at
