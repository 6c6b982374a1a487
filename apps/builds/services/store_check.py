"""Whether the artifact store can be used, as the control worker found."""

from apps.builds.models import StoreCheck
from controlplane import clock
from controlplane.domain.failures import Failure


def store_checked(failure: Failure | None) -> bool:
    """Note what a check found; return whether that is news."""
    now = clock.now()
    failure_json = failure.to_json() if failure else None
    before = StoreCheck.objects.filter(id=StoreCheck.ROW).first()
    is_news = before is None or _code(before.failure) != _code(failure_json)
    since = now if before is None or is_news else before.since
    StoreCheck.objects.update_or_create(
        id=StoreCheck.ROW, defaults={"failure": failure_json, "since": since, "checked_at": now}
    )
    return is_news


def _code(failure: dict[str, object] | None) -> object:
    return failure["code"] if failure else None
