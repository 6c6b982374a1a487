"""A message is sent by a worker under a lease: signed, retried, in order, once."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from pytest_django import Settings

from apps.alerts.channels.services import channel_create, channel_test
from apps.alerts.deliveries.leasing import DELIVERY
from apps.alerts.deliveries.sending import WAITS
from apps.alerts.models import Alert, AlertChannel, AlertDelivery, Event
from apps.leases.services import leases_claimable
from apps.secrets.services.values import secret_set
from controlplane import clock
from tests.apps.conftest import keepers_stand_still
from tests.factories import Cast, make_cast
from tests.webhook_receiver import WebhookReceiver
from workers.tasks.alerts import deliver

__all__ = ["keepers_stand_still"]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]
within_one_transaction = pytest.mark.usefixtures("keepers_stand_still")
"""However long a message takes: the first of a process imports what sends it."""


@pytest.fixture
def cast(settings: Settings, tmp_path: Any) -> Cast:
    settings.ALLOW_PRIVATE_ADDRESSES = True
    settings.KEY_RING_FILE = tmp_path / "keys" / "ring"
    return make_cast()


@pytest.fixture
def receiver() -> Iterator[WebhookReceiver]:
    with WebhookReceiver() as receiver:
        yield receiver


def make_channel(cast: Cast, receiver: WebhookReceiver, **changes: Any) -> AlertChannel:
    values = {"name": "on call", "form": "webhook", "target": receiver.url()} | changes
    return channel_create(team=cast.team, **values)


def make_firing(channel: AlertChannel) -> AlertDelivery:
    now = clock.now()
    alert = Alert.objects.create(
        team=channel.team, kind="build_failed", subject=str(now), severity="warning",
        sentence="Build 4 of `<b>` failed.", path="/builds/4/", began_at=now, fired_at=now,
    )  # fmt: skip
    delivery = AlertDelivery.objects.create(channel=channel, event=Event.FIRING)
    delivery.alerts.set([alert])
    return delivery


def sent(delivery: AlertDelivery) -> AlertDelivery:
    deliver(alert_delivery_id=delivery.id, format=1)
    delivery.refresh_from_db()
    return delivery


@pytest.mark.django_db(transaction=True)
def test_a_signed_message_arrives_and_its_key_is_redeemed_over_the_lease(
    live_server: Any, settings: Settings, cast: Cast, receiver: WebhookReceiver
) -> None:
    settings.CONTROL_PLANE_URL = live_server.url
    secret_set(team=cast.team, name="signing_key", value="whsec_a2V5")
    delivery = sent(make_firing(make_channel(cast, receiver, secret_name="signing_key")))
    assert (delivery.state, delivery.attempts, delivery.sentence) == ("finished", 1, "")
    (posted,) = receiver.posted
    assert posted.headers["webhook-signature"].startswith("v1,")
    content = json.loads(posted.body)
    assert content["type"] == "alert.firing"
    (alert,) = content["data"]["alerts"]
    assert (alert["kind"], alert["sentence"]) == ("build_failed", "Build 4 of `<b>` failed.")
    assert alert["url"] == f"{settings.PUBLIC_URL}/builds/4/"
    assert sent(delivery).attempts == 1
    assert len(receiver.posted) == 1


@within_one_transaction
def test_what_fails_is_tried_again_with_the_same_id_until_it_has_failed(
    cast: Cast, receiver: WebhookReceiver
) -> None:
    receiver.statuses = [503]
    delivery = make_firing(make_channel(cast, receiver))
    for _ in WAITS:
        assert sent(delivery).state == "waiting"
        assert delivery.next_attempt_at is not None
        assert sent(delivery).attempts == len(receiver.posted)  # not before its time
        AlertDelivery.objects.update(next_attempt_at=clock.now() - timedelta(seconds=1))
    assert (sent(delivery).state, delivery.attempts) == ("failed", len(WAITS) + 1)
    assert delivery.sentence == "`127.0.0.1` answered 503."
    assert {each.headers["webhook-id"] for each in receiver.posted} == {delivery.id}


@within_one_transaction
def test_a_channels_messages_leave_in_their_order(cast: Cast, receiver: WebhookReceiver) -> None:
    receiver.statuses = [503, 204]
    channel = make_channel(cast, receiver)
    first = make_firing(channel)
    second = channel_test(channel=channel)
    assert sent(second).attempts == 0
    assert sent(first).state == "waiting"
    assert sent(second).attempts == 0
    AlertDelivery.objects.update(next_attempt_at=None)
    assert [each.id for each in leases_claimable(DELIVERY)] == [first.id]
    assert sent(first).state == "finished"
    assert sent(second).state == "finished"


@within_one_transaction
def test_slack_gets_words_in_which_nothing_is_a_command(
    cast: Cast, receiver: WebhookReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = receiver.url("/services/canary")
    secret_set(team=cast.team, name="slack", value=url)
    channel = make_channel(cast, receiver, form="slack", target="", secret_name="slack")
    monkeypatch.setattr("workers.tasks.alerts.redeem_secrets", lambda _keeper: {"slack": url})
    assert sent(make_firing(channel)).state == "finished"
    (posted,) = receiver.posted
    assert posted.path == "/services/canary"
    text = json.loads(posted.body)["text"]
    assert text.startswith("*Firing: Build failed*\nBuild 4 of `&lt;b&gt;` failed.")
