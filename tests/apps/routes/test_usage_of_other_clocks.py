"""A gateway whose clock is wrong loses no usage, and everybody sees that it is wrong."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from apps.accounts.models import ApiKey
from apps.alerts.conditions.troubles import troubles
from apps.alerts.evaluation import alerts_evaluate
from apps.fleet.credentials import hash_of
from apps.fleet.models import Gateway
from apps.telemetry.models import UsageJournal, UsageMinute
from controlplane import clock
from controlplane.domain.wire.routes import TIME_HEADER
from tests.apps.pages import signed_in
from tests.factories import make_api_key, make_cast, make_node
from tests.factories_serving import make_gateway

pytestmark = pytest.mark.django_db
FAR = timedelta(days=40).total_seconds()
NOW = clock.now().timestamp()
NOON = NOW // 60 * 60 - 600 + 30
"""In the middle of a minute: what a test takes moves it into no other."""


@pytest.fixture
def key() -> ApiKey:
    make_gateway(name="gw")
    make_api_key()
    return ApiKey.objects.get()


@pytest.mark.parametrize("ahead", [FAR, -FAR, 3700.0, -120.0])
def test_no_request_is_lost_and_each_lands_in_its_own_minute(
    client: Client, key: ApiKey, ahead: float
) -> None:
    records = [_record(key, NOON + ahead), _record(key, NOON - 3600 + ahead)]
    _send(client, records, sent_at=clock.now().timestamp() + ahead)
    minutes = {row.minute.timestamp(): row.requests for row in UsageMinute.objects.all()}
    assert minutes == {NOON - 30: 1, NOON - 3630: 1}
    assert UsageJournal.objects.get().set_aside == 0
    key.refresh_from_db()
    assert key.last_used_at is not None
    assert abs(key.last_used_at.timestamp() - NOON) < 20


def test_what_was_written_before_its_clock_was_set_back_counts_as_of_now(
    client: Client, key: ApiKey
) -> None:
    _send(client, [_record(key, NOW + FAR)], sent_at=clock.now().timestamp())
    (minute,) = UsageMinute.objects.values_list("minute", flat=True)
    assert abs(minute.timestamp() - clock.now().timestamp()) < 120


def test_a_batch_that_names_no_moment_is_read_as_before(client: Client, key: ApiKey) -> None:
    _send(client, [_record(key, NOW + FAR), _record(key, NOON)])
    assert UsageMinute.objects.get().requests == 1
    assert UsageJournal.objects.get().set_aside == 1


def test_no_claim_of_a_moment_puts_usage_where_its_own_time_could_not(
    client: Client, key: ApiKey
) -> None:
    years = 3650 * 86400.0
    _send(client, [_record(key, NOW - years)], sent_at=clock.now().timestamp())
    _send(client, [_record(key, NOW - years)], sent_at=NOW + years)
    assert not UsageMinute.objects.exists()
    assert sum(UsageJournal.objects.values_list("set_aside", flat=True)) == 2


@pytest.mark.parametrize("moment", [-1, 1e13, "NaN", "now", True])
def test_a_moment_that_is_none_is_refused(client: Client, key: ApiKey, moment: Any) -> None:
    answer = _send(client, [], sent_at=moment)
    assert answer.status_code == 400 or moment is True
    assert not UsageMinute.objects.exists()


@pytest.mark.parametrize(("ahead", "words"), [(FAR, "40 days ahead of"), (-FAR, "40 days behind")])
def test_a_gateway_that_polls_tells_how_far_its_clock_is_off(
    client: Client, key: ApiKey, ahead: float, words: str
) -> None:
    answer = _poll(client, clock.now().timestamp() + ahead)
    assert abs(float(answer[TIME_HEADER]) - clock.now().timestamp()) < 60
    assert abs(Gateway.objects.get().clock_ahead_seconds - ahead) < 60
    (trouble,) = troubles()
    assert f"The clock of gateway `gw` is {words} the database's." in trouble.sentence
    alerts_evaluate()
    page = signed_in(make_cast().owner).get("/").content.decode()
    assert words in page
    _poll(client, clock.now().timestamp())
    assert troubles() == []


@pytest.mark.parametrize("said", ["", "later", "1e400", "-5"])
def test_a_poll_that_names_no_moment_is_answered(client: Client, key: ApiKey, said: str) -> None:
    assert _poll(client, said).status_code in (200, 204)
    assert Gateway.objects.get().clock_ahead_seconds == 0


def test_a_node_that_reports_tells_how_far_its_clock_is_off(client: Client) -> None:
    node = make_node(name="gpu-host-3", credential_sha256=hash_of("agent"))
    body = {"format": 1, "boot_id": "b", "devices": [], "replicas": []}
    for ahead in (FAR, 0.0):
        answer = client.post(
            "/internal/v1/nodes/observe",
            body | {"sent_at": clock.now().timestamp() + ahead},
            content_type="application/json",
            headers={"authorization": "Bearer agent"},
        )
        assert answer.status_code == 200
        node.refresh_from_db()
        assert abs(node.clock_ahead_seconds - ahead) < 60
        assert node.clock_words == ("40 days ahead" if ahead else "")
        assert node.last_heartbeat_at is not None


def _record(key: ApiKey, at: float) -> dict[str, Any]:
    return {
        "request_id": "r",
        "state": "closed",
        "at": at,
        "model_id": "model",
        "deployment_id": "deploy",
        "environment": "production",
        "key_id": key.id,
        "status": 200,
    }


def _send(client: Client, records: list[dict[str, Any]], **more: Any) -> Any:
    body = {"journal": str(uuid4()), "from_offset": 0, "to_offset": 9, "records": records, **more}
    return client.post(
        "/internal/v1/usage",
        body,
        content_type="application/json",
        headers={"authorization": "Bearer gw"},
    )


def _poll(client: Client, sent_at: object) -> Any:
    return client.get(
        "/internal/v1/routes",
        {"after": 0, "format": 2, "sent_at": str(sent_at)},
        headers={"authorization": "Bearer gw"},
    )
