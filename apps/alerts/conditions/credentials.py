from collections.abc import Iterator

from django.urls import reverse

from apps.accounts.models import ApiKey
from apps.alerts.conditions.condition import Condition
from apps.alerts.models import Severity
from apps.secrets.models import Secret
from apps.secrets.selectors import days_until, secrets_ending
from controlplane.clock import Clock
from controlplane.domain.alert_kinds import AlertKindName


def credential_conditions(clock: Clock) -> Iterator[Condition]:
    """Give the secrets that have expired or soon will, and the keys that are stopped."""
    for secret in secrets_ending():
        yield _of_secret(secret)
    stopped = ApiKey.objects.filter(spent_until__gt=clock.now(), revoked_at=None)
    for key in stopped.order_by("id"):
        yield _of_key(key)


def _of_secret(secret: Secret) -> Condition:
    assert secret.expires_at is not None  # those that end
    is_over = days_until(secret.expires_at) < 0
    when = f"{'expired' if is_over else 'expires'} on {secret.expires_at:%Y-%m-%d}"
    return Condition(
        kind=AlertKindName.SECRET_EXPIRY,
        subject=secret.id,
        team_id=secret.team_id,
        severity=Severity.CRITICAL if is_over else Severity.WARNING,
        sentence=f"The secret `{secret.name}` {when} (UTC).",
        hint="No build starts with it. Store a new value, or change its expiry."
        if is_over
        else "Store a new value before builds stop, or change its expiry.",
        path=reverse("secrets:secret", args=[secret.id]),
    )


def _of_key(key: ApiKey) -> Condition:
    name = f"`{key.prefix}`" + (f" ({key.name})" if key.name else "")
    return Condition(
        kind=AlertKindName.SPEND_LIMIT,
        subject=key.id,
        team_id=key.team_id,
        severity=Severity.CRITICAL,
        sentence=f"The API key {name} has used up the {key.monthly_spend} of its month; its "
        f"requests are answered 402 until {key.spent_until:%Y-%m-%d}.",
        hint="Raise the key's monthly limit, or wait for the next month.",
        path=reverse("accounts:keys"),
    )
