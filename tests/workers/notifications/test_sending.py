"""Messages leave for real servers on loopback, and what stops them is told in words."""

import base64
import hashlib
import hmac
import json
from typing import Any

import pytest

from controlplane.domain.notifications import ChannelForm, Message
from tests.loopback_server import nobody_listens
from tests.mail_server import MailServer
from tests.manual_clock import ManualClock
from tests.webhook_receiver import WebhookReceiver
from workers.notifications.sending import Ways, send

HERE = Ways(allow_private_addresses=True)
KEY = base64.b64encode(b"k" * 24).decode()


def message(form: ChannelForm, **changes: Any) -> Message:
    values: dict[str, Any] = {
        "id": "d5h7wq2m",
        "form": form,
        "target": "",
        "secret_name": "",
        "title": "Firing: Deployment down\r\nBcc: everyone@example.com",
        "text": "`qwen` is down.\nNothing is ready.",
        "body": b'{"type": "alert.firing"}',
    }
    return Message(**(values | changes))


def test_a_webhook_is_signed_so_that_its_receiver_can_check_it() -> None:
    clock = ManualClock()
    with WebhookReceiver() as receiver:
        report = message(ChannelForm.WEBHOOK, target=receiver.url("/a?b=c"), secret_name="key")
        outcome = send(report, secrets={"key": f"whsec_{KEY}\n"}, ways=HERE, clock=clock)
    assert outcome.arrived
    (posted,) = receiver.posted
    assert (posted.path, posted.body) == ("/a?b=c", report.body)
    assert posted.headers["content-type"] == "application/json"
    signed = f"d5h7wq2m.{int(clock.time())}.".encode() + report.body
    digest = hmac.new(b"k" * 24, signed, hashlib.sha256).digest()
    assert posted.headers["webhook-signature"] == f"v1,{base64.b64encode(digest).decode()}"
    assert posted.headers["webhook-id"] == "d5h7wq2m"
    assert posted.headers["webhook-timestamp"] == str(int(clock.time()))


@pytest.mark.parametrize(
    ("status", "may_retry"), [(500, True), (429, True), (404, False), (302, False)]
)
def test_what_a_webhook_refuses_is_tried_again_where_that_may_help(
    status: int, may_retry: bool
) -> None:
    with WebhookReceiver(statuses=[status]) as receiver:
        outcome = send(message(ChannelForm.WEBHOOK, target=receiver.url()), secrets={}, ways=HERE)
    assert (outcome.arrived, outcome.may_retry) == (False, may_retry)
    assert str(status) in outcome.sentence
    assert [each.path for each in receiver.posted] == ["/hook"]


def test_slacks_address_is_the_secret_and_no_failure_tells_it() -> None:
    with WebhookReceiver(statuses=[403]) as receiver:
        report = message(
            ChannelForm.SLACK, secret_name="slack", body=json.dumps({"text": "x"}).encode()
        )
        path = "/services/T0/B0/canary"
        outcome = send(report, secrets={"slack": receiver.url(path)}, ways=HERE)
    assert receiver.posted[0].path == path
    assert "canary" not in outcome.sentence + outcome.hint
    odd = send(report, secrets={"slack": "xoxb-canary"}, ways=HERE)
    assert (odd.arrived, odd.may_retry) == (False, False)
    assert "canary" not in odd.sentence + odd.hint


def test_a_private_address_is_refused_unless_the_operator_allows_it() -> None:
    with WebhookReceiver() as receiver:
        outcome = send(message(ChannelForm.WEBHOOK, target=receiver.url()), secrets={}, ways=Ways())
    assert receiver.posted == []
    assert "private network" in outcome.sentence
    assert not outcome.may_retry


def test_nobody_there_is_tried_again_and_a_secret_that_is_gone_is_not() -> None:
    with nobody_listens() as place:
        away = send(message(ChannelForm.WEBHOOK, target=f"http://{place}"), secrets={}, ways=HERE)
    assert (away.arrived, away.may_retry) == (False, True)
    gone = send(message(ChannelForm.SLACK, secret_name="slack"), secrets={}, ways=HERE)
    assert "`slack`" in gone.sentence
    assert not gone.may_retry


def test_mail_goes_to_every_mailbox_with_one_subject_line() -> None:
    with MailServer() as server:
        report = message(ChannelForm.MAIL, target="a@example.com, b@example.com")
        outcome = send(
            report, secrets={}, ways=Ways(email_url=server.url, email_from="eh@example.com")
        )
    assert outcome.arrived, outcome
    assert server.recipients == ["a@example.com", "b@example.com"]
    (mail,) = server.mails
    head, _, body = mail.partition("\r\n\r\n")
    subject = "Subject: [Enginehouse] Firing: Deployment down Bcc: everyone@example.com"
    assert subject in head.replace("\r\n ", " ")
    assert "\nBcc:" not in head
    assert "Nothing is ready." in body


def test_what_a_mail_server_refuses_is_told() -> None:
    report = message(ChannelForm.MAIL, target="a@example.com, gone@example.com")
    with MailServer(refuses=frozenset({"gone@example.com"})) as server:
        refused = send(report, secrets={}, ways=Ways(email_url=server.url, email_from="e@x.com"))
    assert "`gone@example.com`" in refused.sentence
    assert not refused.may_retry
    with MailServer(busy=True) as server:
        busy = send(report, secrets={}, ways=Ways(email_url=server.url, email_from="e@x.com"))
    assert (busy.arrived, busy.may_retry) == (False, True)
    assert "451" in busy.sentence


def test_a_password_is_never_sent_without_encryption() -> None:
    with MailServer() as server:
        url = server.url.replace("smtp://", "smtp://user:canary@")
        outcome = send(
            message(ChannelForm.MAIL, target="a@example.com"),
            secrets={},
            ways=Ways(email_url=url, email_from="e@x.com"),
        )
    assert server.mails == []
    assert "STARTTLS" in outcome.sentence
    assert "canary" not in outcome.sentence + outcome.hint
