"""What gateways would be told of, as it was named."""

from apps.accounts.models import RoutesChange
from apps.accounts.routes_version import EVERYTHING


def named_after(version: int) -> dict[str, list[str]] | None:
    """Return the names by kind of what changed after the version; None where all may have."""
    values: dict[str, list[str]] = {}
    for change in RoutesChange.objects.filter(version__gt=version).order_by("kind", "name"):
        values.setdefault(change.kind, []).append(change.name)
    return None if EVERYTHING in values else values
