"""Series of requests say what usage says, minute by minute, whoever is killed in between."""

import random
from typing import Any
from uuid import UUID, uuid4

import pytest

from apps.fleet.models import Gateway
from apps.routes.services import usage_ingest
from apps.telemetry.models import SeriesBucket, SeriesDelta, SeriesLabels, UsageMinute
from apps.telemetry.series.names import Source, slots_of
from apps.telemetry.series.percentiles import merged_percentiles
from apps.telemetry.series.requests import STATUS_NAMES
from apps.telemetry.series.running import totals_of
from apps.telemetry.series.services import series_fold
from controlplane import clock
from tests.factories import make_gateway, make_model

pytestmark = pytest.mark.django_db
SLOTS = slots_of(Source.GATEWAY)
COUNTED = ("requests", "prompt_tokens", "completion_tokens", "request_bytes", "response_bytes")


@pytest.fixture
def gateway() -> Gateway:
    return make_gateway()


def record(number: int = 0, **changes: Any) -> dict[str, Any]:
    return {
        "request_id": f"r{number}", "state": "closed", "at": clock.now().timestamp() - 60,
        "model_id": "gone", "deployment_id": "d", "environment": "production", "key_id": "k",
        "replica_id": "r", "status": 200, "stream": True, "prompt_tokens": 5,
        "completion_tokens": 11, "cached_tokens": 2, "queue_seconds": 0.25,
        "first_byte_seconds": 0.5, "duration_seconds": 2.5, "request_bytes": 10,
        "response_bytes": 20, **changes,
    }  # fmt: skip


def send(gateway: Gateway, journal: UUID, begin: int, *records: dict[str, Any]) -> int:
    return usage_ingest(
        journal=journal, gateway=gateway, from_offset=begin, to_offset=begin + 1, records=records
    )


def test_every_minute_of_usage_is_the_same_in_series(gateway: Gateway) -> None:
    chance, now = random.Random(3), clock.now().timestamp()
    records = [
        record(
            number, at=now - chance.uniform(0, 7000), key_id=chance.choice("ab"),
            deployment_id=chance.choice("de"), status=chance.choice([200, 404, 499, 503, None]),
            environment=chance.choice([None, "production"]), prompt_tokens=chance.randrange(9),
            replica_id=chance.choice([None, "r", "s"]),
        )
        for number in range(200)
    ]  # fmt: skip
    journal = uuid4()
    for begin in range(4):
        send(gateway, journal, begin, *records[begin * 50 : begin * 50 + 50])
        send(gateway, journal, begin, *records[begin * 50 : begin * 50 + 50])  # its answer was lost
        series_fold()
    assert by_series() == by_usage()
    assert by_running_sums() == by_usage_ever()


def by_usage_ever() -> dict[tuple[str, ...], list[int]]:
    values: dict[tuple[str, ...], list[int]] = {}
    for (_, deployment, environment, _, status), counted in by_usage().items():
        before = values.get((deployment, environment, status), [0] * len(COUNTED))
        values[deployment, environment, status] = [*map(sum, zip(before, counted, strict=True))]
    return values


def by_running_sums() -> dict[tuple[str, ...], list[float]]:
    totals = totals_of(Source.GATEWAY, team_id="")
    return {
        (each.deployment_id, each.environment, each.status_class):
            [each.sums[SLOTS[name].sums] for name in COUNTED]
        for each in totals
    }  # fmt: skip


def by_usage() -> dict[tuple[Any, ...], list[int]]:
    return {
        (row.minute, row.deployment_id, row.environment, row.key_id,
         STATUS_NAMES[row.status_class]): [getattr(row, name) for name in COUNTED]
        for row in UsageMinute.objects.all()
    }  # fmt: skip


def by_series() -> dict[tuple[Any, ...], list[float]]:
    labels = SeriesLabels.objects.filter(cut="key").in_bulk()
    rows = SeriesBucket.objects.filter(resolution_seconds=60, labels_id__in=labels)
    return {
        (row.at, of.deployment_id, of.environment, of.key_id, of.status_class):
            [row.sums[SLOTS[name].sums] for name in COUNTED]
        for row in rows
        for of in [labels[row.labels_id]]
    }  # fmt: skip


def test_times_and_tokens_of_a_request_go_into_its_series(gateway: Gateway) -> None:
    model = make_model()
    send(gateway, uuid4(), 0, record(model_id=model.id))
    series_fold()
    labels = SeriesLabels.objects.get(cut="replica")
    assert (labels.team_id, labels.model_id, labels.replica_id) == (model.team_id, model.id, "r")
    row = SeriesBucket.objects.get(resolution_seconds=60, labels_id=labels.id)
    assert row.sums[SLOTS["cached_prompt_tokens"].sums] == 2
    values = {"queue_seconds": 0.25, "time_to_first_token_seconds": 0.5,
            "inter_token_seconds": 0.2, "end_to_end_seconds": 2.5}  # fmt: skip
    for name, seconds in values.items():
        stored = [bytes(row.sketches[SLOTS[name].sketch])]
        (statement,) = merged_percentiles(stored, [0], many=1, shares=[0.5])
        assert statement.percentiles[0] == pytest.approx(seconds, rel=0.01)


def test_what_an_older_gateway_does_not_say_is_not_measured(gateway: Gateway) -> None:
    old = record()
    for name in ("cached_tokens", "queue_seconds", "replica_id"):
        del old[name]
    send(gateway, uuid4(), 0, {**old, "stream": False})
    delta = SeriesDelta.objects.get()
    assert delta.sums[SLOTS["cached_prompt_tokens"].sums] is None
    assert [each is None for each in delta.sketches] == [True, True, True, False]
