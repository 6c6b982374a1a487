"""When the demonstration asks what it has deployed."""

import pytest

from apps.dashboard.demo.job import _serves_production


@pytest.mark.parametrize(
    ("status", "replicas", "is_production", "is_asked"),
    [
        ("ACTIVE", 1, True, True),
        ("SCALED_TO_ZERO", 0, True, True),
        ("ACTIVE", 0, True, False),
        ("ACTIVE", 1, False, False),
        ("UNHEALTHY", 0, True, False),
    ],
)
def test_what_serves_or_sleeps_in_production_is_asked(
    status: str, replicas: int, is_production: bool, is_asked: bool
) -> None:
    deployment = {
        "status": status, "active_replica_count": replicas, "is_production": is_production,
    }  # fmt: skip
    assert _serves_production(deployment) is is_asked
