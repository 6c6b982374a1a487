"""What several kinds of work say alike: on which queue they wait, and how they fail."""

from collections.abc import Callable, Mapping
from typing import Any

from apps.leases.database_clock import ClockTimestamp
from controlplane.celery import build_queue
from controlplane.domain.failures import Failure


def always_on(queue: str) -> Callable[[Any], str]:
    return lambda _row: queue


def on_queue_of_pool(row: Any) -> str:
    return build_queue(row.pool)


def failed_with(failure: Failure, *, state: str, at: str = "finished_at") -> Mapping[str, Any]:
    """Return what a row says that ends with the failure; `at` is the column of its end."""
    return {"state": state, "failure": failure.to_json(), at: ClockTimestamp()}
