"""Usage is counted exactly once, by the minute."""

import json
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.test import Client

from apps.accounts.models import ApiKey
from apps.deployments.usage.spending import Grouping, usage_lines
from apps.telemetry.models import SeriesDelta, UsageJournal, UsageMinute
from apps.telemetry.traffic import traffic_within
from controlplane import clock
from tests.factories import make_api_key
from tests.factories_serving import make_gateway

pytestmark = pytest.mark.django_db
NOON = clock.now().timestamp() // 60 * 60 - 600  # a whole minute of today


@pytest.fixture
def key() -> ApiKey:
    """A key that was used, beside a gateway that tells of it."""
    make_gateway(name="gw")
    make_api_key()
    return ApiKey.objects.get()


def test_closed_requests_are_summed_by_minute(client: Client, key: ApiKey) -> None:
    records = [
        _record(key, at=NOON + 1, prompt_tokens=5, completion_tokens=7, first_byte_seconds=0.2),
        _record(key, at=NOON + 59, prompt_tokens=1, completion_tokens=2, first_byte_seconds=3.0),
        _record(key, at=NOON + 60),
        _record(key, at=NOON, state="open"),
        _record(key, at=NOON, state="running"),
        _record(key, at=NOON + 2, status=499),
        _record(key, at=NOON + 2, status=503),
    ]
    answer = _send(client, uuid4(), 0, 900, records)
    assert answer.json() == {"committed_offset": 900}
    rows = {(row.minute.timestamp(), row.status_class): row for row in UsageMinute.objects.all()}
    assert {at: row.requests for at, row in rows.items()} == {
        (NOON, 2): 2,
        (NOON + 60, 2): 1,
        (NOON, 0): 1,
        (NOON, 5): 1,
    }
    first = rows[NOON, 2]
    assert (first.prompt_tokens, first.completion_tokens) == (6, 9)
    assert first.request_bytes == 20
    key.refresh_from_db()
    assert key.last_used_at is not None
    assert key.last_used_at.timestamp() == NOON + 60


def test_requests_on_extra_routes_are_told_apart_within_their_minute(
    client: Client, key: ApiKey
) -> None:
    journal = uuid4()
    records = [_record(key, is_extra_route=extra) for extra in (True, False, True)]
    _send(client, journal, 0, 300, [*records, _record(key)])  # an older gateway does not say
    _send(client, journal, 300, 400, [_record(key, is_extra_route=True)])
    row = UsageMinute.objects.get()
    assert (row.requests, row.extra_route_requests) == (5, 3)


def test_requests_of_a_benchmark_are_usage_of_their_own_and_count_nowhere_else(
    client: Client, key: ApiKey
) -> None:
    marked = _record(key, traffic_mark="benchmark", at=clock.now().timestamp() - 5)
    _send(client, uuid4(), 0, 100, [marked])

    minute = UsageMinute.objects.get()
    assert (minute.traffic_mark, minute.requests) == ("benchmark", 1)
    counted = traffic_within(timedelta(minutes=5), now=clock.now())
    assert not counted
    assert not SeriesDelta.objects.exists()
    today = clock.now().date()
    assert not usage_lines(group_by=Grouping.KEY, since=today, until=today)


def test_a_repeat_is_a_no_op(client: Client, key: ApiKey) -> None:
    journal = uuid4()
    for _ in range(2):
        answer = _send(client, journal, 0, 100, [_record(key)])
        assert answer.json() == {"committed_offset": 100}
    assert UsageMinute.objects.get().requests == 1


def test_what_follows_is_added_and_a_gap_is_refused(client: Client, key: ApiKey) -> None:
    journal = uuid4()
    _send(client, journal, 0, 100, [_record(key)])
    assert _send(client, journal, 100, 200, [_record(key)]).status_code == 200
    gap = _send(client, journal, 300, 400, [_record(key)])
    assert gap.status_code == 409
    assert gap.json()["committed_offset"] == 200
    overlap = _send(client, journal, 150, 400, [_record(key)])
    assert overlap.json()["committed_offset"] == 200
    assert UsageMinute.objects.get().requests == 2
    assert UsageJournal.objects.get().committed_offset == 200


def test_two_gateways_add_to_the_same_minute(client: Client, key: ApiKey) -> None:
    for _ in range(2):
        _send(client, uuid4(), 0, 100, [_record(key)])
    assert UsageMinute.objects.get().requests == 2


def test_minutes_are_made_in_one_order_whoever_tells_of_them(client: Client, key: ApiKey) -> None:
    late, early = _record(key, at=NOON + 60), _record(key, at=NOON)
    _send(client, uuid4(), 0, 100, [late, early])
    made = UsageMinute.objects.order_by("id").values_list("minute", flat=True)
    assert [minute.timestamp() for minute in made] == [NOON, NOON + 60]


def test_a_line_that_cannot_be_read_does_not_block_the_journal(client: Client, key: ApiKey) -> None:
    broken = {**_record(key), "deployment_id": "x" * 99}
    answer = _send(client, uuid4(), 0, 100, [broken, _record(key)])
    assert answer.json() == {"committed_offset": 100}
    assert UsageMinute.objects.get().requests == 1


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"prompt_tokens": 2**53}, "prompt_tokens"),
        ({"completion_tokens": -1}, "completion_tokens"),
        ({"response_bytes": 10**30}, "response_bytes"),
        ({"duration_seconds": 1e300}, "duration_seconds"),
        ({"model_id": "a\0b"}, "model_id"),
        ({"environment": "\0"}, "environment"),
        ({"status": 2**31}, "status"),
        ({"at": NOON + 2 * 86400}, "at"),
        ({"at": NOON - 500 * 86400}, "at"),
        ({"request_id": "\0" * 9, "key_id": "x" * 99}, "key_id"),
    ],
)
def test_what_no_column_holds_is_set_aside_counted_and_told(
    client: Client, key: ApiKey, change: dict[str, Any], field: str
) -> None:
    answer = _send(client, uuid4(), 0, 100, [_record(key, **change), _record(key)])
    assert answer.json() == {"committed_offset": 100}
    assert UsageMinute.objects.get().requests == 1
    journal = UsageJournal.objects.get()
    assert (journal.set_aside, journal.gateway_name) == (1, "gw")
    assert field in journal.set_aside_reason
    assert journal.set_aside_at is not None


@pytest.mark.parametrize(
    "state", ["clozed", "Closed", "", None, 7, ["closed"], {"closed": 1}, "\ud800"], ids=ascii
)
def test_a_state_that_is_none_is_set_aside_and_not_lost_in_silence(
    client: Client, key: ApiKey, state: object
) -> None:
    answer = _send(client, uuid4(), 0, 100, [_record(key, state=state), _record(key)])
    assert answer.json() == {"committed_offset": 100}
    assert UsageMinute.objects.get().requests == 1
    journal = UsageJournal.objects.get()
    assert journal.set_aside == 1
    assert journal.set_aside_reason.startswith("request r: state: ")


def test_a_record_without_a_state_is_set_aside(client: Client, key: ApiKey) -> None:
    record = _record(key)
    del record["state"]
    _send(client, uuid4(), 0, 100, [record])
    assert UsageJournal.objects.get().set_aside == 1


@pytest.mark.parametrize(
    "record",
    [None, True, 7, "text", "\ud800", [], [{"state": "closed"}], {}, {"request_id": "\ud800"},
     "1" * 5000],
    ids=lambda record: ascii(record)[:40],
)  # fmt: skip
def test_what_is_no_record_is_set_aside_and_the_journal_goes_on(
    client: Client, key: ApiKey, record: object
) -> None:
    journal = uuid4()
    written = record if isinstance(record, str) and record.isdigit() else json.dumps(record)
    body = json.dumps(_stretch(journal, 0, 100, [_record(key)]))
    body = body.replace('"records": [', f'"records": [{written}, ')
    answer = _post(client, body)
    assert answer.json() == {"committed_offset": 100}
    assert UsageMinute.objects.get().requests == 1
    assert UsageJournal.objects.get().set_aside == 1


@pytest.mark.parametrize(
    ("field", "value"),
    [("key_id", "\ud800"), ("model_id", "a\udfff"), ("environment", "\ud800"), ("at", 1e999)],
)
def test_half_a_letter_sets_its_record_aside_alone(
    client: Client, key: ApiKey, field: str, value: object
) -> None:
    records = [_record(key, **{field: value}), _record(key, route="\ud800")]
    answer = _send(client, uuid4(), 0, 100, records)
    assert answer.json() == {"committed_offset": 100}
    assert UsageMinute.objects.get().requests == 1
    assert field in UsageJournal.objects.get().set_aside_reason


def test_a_minute_holds_more_of_the_largest_requests_than_a_stretch_can_bring(
    client: Client, key: ApiKey
) -> None:
    largest = _record(key, prompt_tokens=2**40)
    _send(client, uuid4(), 0, 100, [largest] * 1100)
    assert UsageMinute.objects.get().prompt_tokens == 1100 * 2**40
    assert UsageJournal.objects.get().set_aside == 0


def test_a_sum_past_its_column_is_set_aside_and_the_journal_goes_on(
    client: Client, key: ApiKey
) -> None:
    journal = uuid4()
    _send(client, journal, 0, 100, [_record(key, prompt_tokens=1)])
    UsageMinute.objects.update(prompt_tokens=2**63 - 5)
    _send(client, journal, 100, 200, [_record(key, prompt_tokens=3)] * 2)
    answer = _send(client, journal, 200, 300, [_record(key, prompt_tokens=2)])
    assert answer.json() == {"committed_offset": 300}
    minute = UsageMinute.objects.get()
    assert (minute.requests, minute.prompt_tokens) == (2, 2**63 - 3)
    assert UsageJournal.objects.get().set_aside == 2


def _record(key: ApiKey, **changes: Any) -> dict[str, Any]:
    return {
        "request_id": "r",
        "state": "closed",
        "at": NOON,
        "model_id": "model",
        "deployment_id": "deploy",
        "environment": "production",
        "replica_id": "rplca",
        "key_id": key.id,
        "route": "/v1/chat/completions",
        "status": 200,
        "stream": True,
        "prompt_tokens": None,
        "completion_tokens": None,
        "first_byte_seconds": None,
        "duration_seconds": 1.5,
        "request_bytes": 10,
        "response_bytes": 20,
        **changes,
    }


def _send(client: Client, journal: UUID, start: int, end: int, records: Any) -> Any:
    return _post(client, json.dumps(_stretch(journal, start, end, records)))


def _stretch(journal: UUID, start: int, end: int, records: Any) -> dict[str, Any]:
    return {"journal": str(journal), "from_offset": start, "to_offset": end, "records": records}


def _post(client: Client, body: str) -> Any:
    return client.post(
        "/internal/v1/usage",
        body,
        content_type="application/json",
        headers={"Authorization": "Bearer gw"},
    )
