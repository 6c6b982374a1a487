"""Reads of secrets: names and dates, never values."""

from django.db.models import QuerySet

from apps.accounts.models import Team
from apps.secrets.models import Secret
from apps.secrets.names import normal_name


def secret_list(*, team: Team) -> QuerySet[Secret]:
    """Return the team's secrets by name, without their sealed values."""
    return (
        Secret.objects.filter(team=team)
        .select_related("team", "updated_by")
        .defer("nonce", "ciphertext")
        .order_by("name")
    )


def secret_names(*, team: Team) -> frozenset[str]:
    """Return the normal names of the team's secrets."""
    return frozenset(Secret.objects.filter(team=team).values_list("name", flat=True))


def secret_get(*, team: Team, name: str) -> Secret | None:
    """Return the secret of that name in either spelling."""
    return secret_list(team=team).filter(name=normal_name(name)).first()
