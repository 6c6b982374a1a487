"""The last hour by the minute: what gateways counted beside what engines said of themselves."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from apps.telemetry import buckets
from apps.telemetry.last_hour import deployment_series
from apps.telemetry.models import EngineSample, UsageMinute

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 28, 12, 0, 30, tzinfo=UTC)


def series() -> dict[str, Any]:
    return dict(deployment_series(deployment_id="d", now=NOW))


def count(
    *, age: int, requests: int, first_bytes: dict[int, int] | None = None, **given: Any
) -> None:
    """Have a gateway count within the minute so long ago; `first_bytes` by bucket."""
    counts = buckets.empty()
    for place, many in (first_bytes or {}).items():
        counts[place] = many
    UsageMinute.objects.create(
        minute=NOW.replace(second=0) - timedelta(minutes=age), model_id="m", key_id="key",
        requests=requests, first_byte_buckets=counts,
        **{"deployment_id": "d", "status_class": 2, "completion_tokens": requests * 10} | given,
    )  # fmt: skip


def say(*, seconds_ago: int, replica: str = "r", deployment: str = "d", **values: float) -> None:
    EngineSample.objects.create(
        replica_id=replica, deployment_id=deployment, values=values,
        sampled_at=NOW - timedelta(seconds=seconds_ago),
    )  # fmt: skip


def test_minutes_run_from_the_first_counted_one_and_the_one_that_runs_is_left_out() -> None:
    count(age=3, requests=60, first_bytes={4: 10})
    count(age=3, requests=30, first_bytes={5: 10}, status_class=5, completion_tokens=0)
    count(age=1, requests=6)
    count(age=0, requests=600)
    count(age=2, requests=600, deployment_id="other")
    count(age=61, requests=600)
    found = series()
    assert found["times"] == [int(NOW.timestamp()) - 30 - 60 * age for age in (3, 2, 1)]
    assert found["requests"] == [1.5, 0, 0.1]
    assert found["tokens"] == [10, 0, 1]
    assert found["first_token_p50"] == [0.25, None, None]
    assert found["first_token_p90"] == [0.45, None, None]
    assert found["kv_used"] == found["accepted"] == [None] * 3


def test_what_engines_said_is_of_the_fullest_replica_and_of_the_drafts_since_the_last_time() -> (
    None
):
    say(
        seconds_ago=150,
        kv_cache_used_ratio=0.1,
        draft_tokens_total=100,
        accepted_draft_tokens_total=80,
    )
    say(
        seconds_ago=140,
        kv_cache_used_ratio=0.3,
        draft_tokens_total=110,
        accepted_draft_tokens_total=84,
    )
    say(
        seconds_ago=80,
        kv_cache_used_ratio=0.2,
        draft_tokens_total=130,
        accepted_draft_tokens_total=94,
    )
    say(seconds_ago=75, replica="fuller", kv_cache_used_ratio=0.5)
    say(seconds_ago=70, deployment="other", kv_cache_used_ratio=0.9)
    say(seconds_ago=5, kv_cache_used_ratio=1.0)
    found = series()
    assert found["kv_used"] == [30, 50]
    assert found["accepted"] == [40, 50]
    assert found["requests"] == [None, None]


def test_a_counter_that_begins_anew_takes_nothing_away() -> None:
    for seconds_ago, drafts, accepted in ((150, 100, 80), (140, 2, 1), (80, 12, 9)):
        say(
            seconds_ago=seconds_ago, draft_tokens_total=drafts, accepted_draft_tokens_total=accepted
        )
    assert series()["accepted"] == [None, 80]


def test_without_anything_measured_there_is_no_minute() -> None:
    assert {name: list(values) for name, values in series().items() if values} == {}
