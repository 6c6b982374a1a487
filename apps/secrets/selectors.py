"""Reads of secrets: names, dates and tests, never values."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db.models import QuerySet

from apps.accounts.models import Team
from apps.rest.errors import NotFound
from apps.secrets.models import Secret, SecretTest
from apps.secrets.names import normal_name
from controlplane import clock
from controlplane.domain.facts.secret_expiries import SecretExpiry
from controlplane.domain.rules.checkpoint.secret_expiry import WARNING_DAYS


def secret_list(*, team: Team | None = None) -> QuerySet[Secret]:
    """Return the secrets of a team, or of all, by name, without their sealed values."""
    rows = Secret.objects.all() if team is None else Secret.objects.filter(team=team)
    return rows.select_related("team", "updated_by").defer("nonce", "ciphertext").order_by("name")


def secret_names(*, team: Team) -> frozenset[str]:
    return frozenset(Secret.objects.filter(team=team).values_list("name", flat=True))


def secret_get(*, team: Team, name: str) -> Secret | None:
    """Return the secret of that name in either spelling."""
    return secret_list(team=team).filter(name=normal_name(name)).first()


def secret_named(*, team: Team, name: str) -> Secret:
    """Return the secret of that name in either spelling. Raises NotFound."""
    secret = secret_get(team=team, name=name)
    if secret is None:
        raise NotFound(f"There is no secret `{name}`.")
    return secret


def secret_of_id(*, team: Team, secret_id: str) -> Secret:
    secret = secret_list(team=team).filter(id=secret_id).first()
    if secret is None:
        raise NotFound(f"There is no secret `{secret_id}`.")
    return secret


def secret_expiries(*, team: Team, names: Iterable[str]) -> tuple[SecretExpiry, ...]:
    spellings: dict[str, list[str]] = {}
    for name in sorted(names):
        spellings.setdefault(normal_name(name), []).append(name)
    if not spellings:
        return ()
    ending = Secret.objects.filter(team=team, name__in=spellings, expires_at__isnull=False)
    return tuple(
        SecretExpiry(name=spelled, on=expires_at.date(), days_left=days_until(expires_at))
        for name, expires_at in ending.values_list("name", "expires_at").order_by("name")
        if expires_at is not None
        for spelled in spellings[name]
    )


def secrets_ending(*, team: Team | None = None) -> QuerySet[Secret]:
    horizon = clock.now() + timedelta(days=WARNING_DAYS + 1)
    return secret_list(team=team).filter(expires_at__lt=horizon).order_by("expires_at")


def days_until(moment: datetime) -> int:
    """Return the whole days until then, below nought once it is over."""
    return (moment - clock.now()).days


def secret_test_list(*, secret: Secret) -> QuerySet[SecretTest]:
    tests = SecretTest.objects.filter(secret=secret).select_related("created_by")
    return tests.order_by("-created_at")


def secret_test_get(*, secret: Secret, test_id: str) -> SecretTest:
    test = secret_test_list(secret=secret).filter(id=test_id).first()
    if test is None:
        raise NotFound(f"There is no test `{test_id}` of `{secret.name}`.")
    return test
