"""Asynchronous requests by their tasks: asked in turn, tried again, called off, told once."""

import json
import threading
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import connections
from pytest_django import Settings

from apps.async_requests.leasing import ASYNC_REQUEST, KEY, MOST_CLAIMS
from apps.async_requests.models import AsyncRequest, AsyncWebhook
from apps.async_requests.services.cancelling import async_request_cancel
from apps.async_requests.services.choosing import next_request
from apps.leases.services import TAKEN_AWAY
from apps.leases.sweeping import leases_sweep
from controlplane import clock
from tests.factories import make_deployment, make_replica
from tests.factories_async import make_async_request
from tests.stand_in_gateway import StandInGateway
from tests.waiting import wait_for
from tests.webhook_receiver import WebhookReceiver
from workers.tasks import async_requests

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("broker", "data_dir"),
]


@pytest.fixture(autouse=True)
def redeemed(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> dict[str, str]:
    """What a lease is good for, in place of a control plane."""
    settings.ALLOW_PRIVATE_ADDRESSES = True
    values = {KEY: "queue000.text"}
    monkeypatch.setattr(async_requests, "redeem_secrets", lambda _keeper: values)
    return values


@pytest.fixture
def gateway(settings: Settings) -> Iterator[StandInGateway]:
    with StandInGateway() as started:
        settings.GATEWAY_INTERNAL_URL = started.url
        yield started


@pytest.fixture
def receiver() -> Iterator[WebhookReceiver]:
    with WebhookReceiver() as receiver:
        yield receiver


def run(request: AsyncRequest) -> AsyncRequest:
    async_requests.run(format=1)
    request.refresh_from_db()
    return request


def be_due() -> None:
    past = clock.now() - timedelta(seconds=1)
    AsyncRequest.objects.update(next_attempt_at=past)
    AsyncWebhook.objects.update(next_attempt_at=past)


def deliver(request: AsyncRequest) -> AsyncRequest:
    async_requests.deliver(AsyncWebhook.objects.get(request=request).id, format=1)
    request.refresh_from_db()
    return request


def test_a_request_is_asked_on_behalf_of_its_key_and_told_once_with_both_secrets(
    gateway: StandInGateway, receiver: WebhookReceiver, redeemed: dict[str, str]
) -> None:
    redeemed |= {"webhook_signing_secret": "new", "webhook_signing_secret_previous": "old"}
    request = run(make_async_request(webhook_endpoint=receiver.url()))
    assert (request.status, request.webhook_status, request.attempts) == ("SUCCEEDED", "PENDING", 1)
    (headers,) = gateway.headers
    assert headers["authorization"] == "Bearer queue000.text"
    assert headers["x-enginehouse-traffic"] == "async"
    assert headers["x-enginehouse-on-behalf-of"] == request.api_key.secret_sha256

    assert deliver(request).webhook_status == "SUCCEEDED"
    deliver(request)  # a message too many
    (posted,) = receiver.posted
    assert posted.headers["x-baseten-request-id"] == request.id
    assert posted.headers["x-baseten-signature"].count("v1=") == 2
    content = json.loads(posted.body)
    assert (content["request_id"], content["errors"]) == (request.id, [])
    assert content["data"] == json.loads(request.output or "")


def test_passing_failures_are_tried_as_often_as_asked_and_then_told(
    gateway: StandInGateway, receiver: WebhookReceiver
) -> None:
    gateway.status_of = lambda number: 500
    request = make_async_request(webhook_endpoint=receiver.url(), max_attempts=2)
    assert (run(request).status, request.attempts) == ("QUEUED", 1)
    assert run(request).attempts == 1  # not before its time
    be_due()
    assert (run(request).status, request.attempts, gateway.count) == ("FAILED", 2, 2)
    assert request.errors == [{"code": "MODEL_PREDICT_ERROR", "message": "refused 500"}]
    deliver(request)
    assert json.loads(receiver.posted[0].body)["data"] is None
    assert (request.status, request.webhook_status) == ("FAILED", "SUCCEEDED")


def test_a_full_model_costs_no_attempt_and_the_request_expires_in_the_queue(
    gateway: StandInGateway, receiver: WebhookReceiver
) -> None:
    gateway.status_of = lambda number: 429
    request = run(make_async_request(webhook_endpoint=receiver.url(), max_attempts=1))
    assert (request.status, request.attempts) == ("QUEUED", 0)
    be_due()
    AsyncRequest.objects.update(expires_at=clock.now() - timedelta(seconds=1))
    run(request)
    assert gateway.count == 1
    leases_sweep(ASYNC_REQUEST)
    request.refresh_from_db()
    assert (request.status, request.webhook_status) == ("EXPIRED", "CANCELED")


def test_a_revoked_key_ends_what_it_asked(gateway: StandInGateway) -> None:
    request = make_async_request()
    request.api_key.revoked_at = clock.now()
    request.api_key.save()
    assert run(request).status == "FAILED"
    assert "revoked" in request.errors[0]["message"]
    assert gateway.count == 0


def test_a_webhook_is_tried_twice_under_one_id_and_what_it_would_not_take_is_kept(
    gateway: StandInGateway, receiver: WebhookReceiver
) -> None:
    receiver.statuses = [503]
    request = run(make_async_request(webhook_endpoint=receiver.url()))
    assert deliver(request).webhook_status == "PENDING"
    be_due()
    assert (deliver(request).status, request.webhook_status) == ("WEBHOOK_FAILED", "FAILED")
    assert len({each.body for each in receiver.posted}) == 1
    assert {each.headers["x-baseten-request-id"] for each in receiver.posted} == {request.id}
    assert request.output


def test_a_refused_webhook_is_not_tried_again_nor_a_private_address_ever(
    settings: Settings, gateway: StandInGateway, receiver: WebhookReceiver
) -> None:
    receiver.statuses = [400]
    request = run(make_async_request(webhook_endpoint=receiver.url()))
    assert deliver(request).status == "WEBHOOK_FAILED"
    settings.ALLOW_PRIVATE_ADDRESSES = False
    request = run(make_async_request(webhook_endpoint=receiver.url()))
    assert deliver(request).status == "WEBHOOK_FAILED"
    assert "private network" in AsyncWebhook.objects.get(request=request).sentence
    assert len(receiver.posted) == 1


def test_a_running_request_that_is_called_off_leaves_the_gateway_and_is_not_told(
    gateway: StandInGateway, receiver: WebhookReceiver
) -> None:
    goes_on, request_sent = threading.Event(), threading.Event()

    def held(_number: int) -> int:
        request_sent.set()
        goes_on.wait()
        return 200

    gateway.status_of = held
    request = make_async_request(webhook_endpoint=receiver.url())
    running = threading.Thread(target=_in_thread)
    running.start()
    wait_for(request_sent.is_set, what="the question")
    assert async_request_cancel(request=request)[0]
    running.join()
    goes_on.set()
    request.refresh_from_db()
    assert (request.status, request.webhook_status) == ("CANCELED", "CANCELED")
    assert not AsyncWebhook.objects.exists()
    assert async_request_cancel(request=request) == (True, "The request is canceled.")


def _in_thread() -> None:
    try:
        async_requests.run(format=1)
    finally:
        connections.close_all()


def test_an_outcome_that_comes_after_the_calling_off_is_not_used(gateway: StandInGateway) -> None:
    request = make_async_request()

    def called_off(_number: int) -> int:
        AsyncRequest.objects.update(cancel_requested_at=clock.now())
        connections.close_all()
        return 200

    gateway.status_of = called_off
    assert (run(request).status, request.output) == ("CANCELED", None)


def test_what_lost_its_worker_too_often_is_given_up_and_told(receiver: WebhookReceiver) -> None:
    lost = {"status": "IN_PROGRESS", "lease_claims": MOST_CLAIMS}
    request = make_async_request(webhook_endpoint=receiver.url(), **lost)
    AsyncRequest.objects.update(**TAKEN_AWAY)
    leases_sweep(ASYNC_REQUEST)
    request.refresh_from_db()
    assert (request.status, request.errors[0]["code"]) == ("FAILED", "INTERNAL_SERVER_ERROR")
    deliver(request)
    assert json.loads(receiver.posted[0].body)["errors"] == request.errors


def test_deployments_take_turns_and_priority_decides_within_one() -> None:
    busy, quiet = make_deployment(), make_deployment()
    for each in (busy, quiet):
        make_replica(deployment=each)
    busy.autoscaling = {"concurrency_target": 2}
    busy.save()
    late = make_async_request(deployment=busy, priority=2)
    first = make_async_request(deployment=busy, priority=0)
    holders = {"status": "IN_PROGRESS", "lease_expires_at": clock.now() + timedelta(hours=1)}
    begun = make_async_request(deployment=busy, **holders)
    assert next_request() == first.id
    other = make_async_request(deployment=quiet, priority=2)
    assert next_request() == other.id
    AsyncRequest.objects.filter(id=other.id).delete()
    make_async_request(deployment=busy, **holders)
    assert next_request() is None
    AsyncRequest.objects.filter(id=begun.id).delete()
    AsyncRequest.objects.filter(id=first.id).delete()
    assert next_request() == late.id


def test_the_queue_goes_on_where_a_model_has_room_and_rests_where_it_has_none(
    gateway: StandInGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    announced: list[bool] = []
    monkeypatch.setattr(async_requests, "queue_go_on", lambda: announced.append(True))
    run(make_async_request())
    assert announced == [True]
    gateway.status_of = lambda number: 429
    run(make_async_request())
    assert announced == [True]


def test_an_environment_is_followed_where_its_deployment_went_out_of_use(
    gateway: StandInGateway,
) -> None:
    new = make_deployment(environment="production")
    old = make_deployment(model=new.model, name="old", state="inactive")
    followed = run(make_async_request(deployment=old, environment="production"))
    assert followed.deployment_id == new.id
    assert run(make_async_request(deployment=old)).deployment_id == old.id


def test_the_ended_are_forgotten_after_their_time(settings: Settings) -> None:
    settings.ASYNC_RESULTS_HOURS = 1
    ended = clock.now() - timedelta(hours=2)
    make_async_request(status="SUCCEEDED", finished_at=ended)
    kept = make_async_request(status="SUCCEEDED", finished_at=clock.now())
    leases_sweep(ASYNC_REQUEST)
    assert [each.id for each in AsyncRequest.objects.all()] == [kept.id]
