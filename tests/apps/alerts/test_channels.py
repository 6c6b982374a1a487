"""Channels are checked when they are stored, over REST and on their page."""

from typing import Any

import pytest

from apps.accounts.models import AuditEntry
from apps.alerts.models import AlertChannel, AlertDelivery
from apps.secrets.models import Secret
from tests.apps.pages import polled, signed_in
from tests.apps.rest_client import client_of
from tests.factories import Cast, make_cast

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]
WANTED: dict[str, Any] = {
    "name": "on call",
    "form": "webhook",
    "target": "https://example.com/hook",
    "secret_name": "signing-key",
    "kinds": ["deployment_down"],
}


@pytest.fixture
def cast(settings: Any) -> Cast:
    settings.EMAIL_URL = ""
    cast = make_cast()
    Secret.objects.create(team=cast.team, name="signing_key", nonce=b"", ciphertext=b"")
    return cast


def test_a_channel_is_made_changed_tried_and_deleted_over_rest(cast: Cast) -> None:
    rest = client_of(cast.member)
    status, made = rest.post("/v1/alert_channels", WANTED)
    assert (status, made["secret_name"], made["hears_installation"]) == (201, "signing_key", True)
    path = f"/v1/alert_channels/{made['id']}"
    assert rest.post("/v1/alert_channels", WANTED)[0] == 409
    assert rest.patch(path, {"is_paused": True})[1] == made | {"is_paused": True}
    first, second = (rest.post(f"{path}/test")[1]["id"] for _ in range(2))
    assert first == second
    items = rest.get(f"{path}/deliveries")[1]["items"]
    assert [(each["event"], each["state"]) for each in items] == [("test", "waiting")]
    used_by = rest.get("/v1/secrets")[1]["secrets"][0]["used_by"]
    assert [(each["kind"], each["name"]) for each in used_by] == [("alert_channel", "on call")]
    assert rest.delete(path)[0] == 204
    assert not AlertDelivery.objects.exists()
    actions = AuditEntry.objects.filter(action__startswith="alert_channel").order_by("id")
    assert [each.action.partition(".")[2] for each in actions] == [
        "create", "change", "test", "delete",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"target": "ftp://example.com"}, "target", "http(s)"),
        ({"target": "https://"}, "target", "http(s)"),
        ({"target": "https://h:99999999/x"}, "target", "http(s)"),
        ({"target": "https://u:p@example.com"}, "target", "login"),
        ({"secret_name": "unknown"}, "secret_name", "`unknown`"),
        ({"form": "slack"}, "target", "secret"),
        ({"form": "slack", "target": "", "secret_name": ""}, "secret_name", "Slack needs"),
        ({"form": "mail", "target": "a@example.com"}, "form", "no mail server"),
        ({"name": " "}, "name", "may not be empty"),
        ({"kinds": ["deployment_down", "unknown"]}, "kinds", "unknown"),
    ],
)
def test_what_cannot_be_is_refused_with_its_field(
    cast: Cast, changes: dict[str, Any], field: str, words: str
) -> None:
    status, refusal = client_of(cast.member).post("/v1/alert_channels", WANTED | changes)
    assert status == 400
    assert refusal["fields"][0].startswith(field)
    assert words in refusal["message"] + (refusal["hint"] or "")
    assert not AlertChannel.objects.exists()


def test_mailboxes_are_checked_one_by_one(cast: Cast, settings: Any) -> None:
    settings.EMAIL_URL = "smtp://mail.example.com"
    rest = client_of(cast.member)
    target = {"name": "mail", "form": "mail", "target": " a@example.com,b@example.com "}
    assert rest.post("/v1/alert_channels", target)[1]["target"] == "a@example.com, b@example.com"
    status, refusal = rest.post("/v1/alert_channels", target | {"target": "a@example.com, nobody"})
    assert (status, refusal["message"]) == (400, "`nobody` is no mailbox.")


def test_the_page_keeps_what_was_typed_and_says_beside_the_field_what_is_wrong(cast: Cast) -> None:
    browser = signed_in(cast.member)
    typed = {**WANTED, "secret_name": "signing_key", "target": "example.com/hook"}
    answer: Any = browser.post("/alerts/channels/", typed)
    shown = answer.content.decode()
    assert answer.status_code == 400
    assert 'value="example.com/hook"' in shown
    assert "A webhook needs an http(s) address." in shown
    answer = browser.post("/alerts/channels/", typed | {"target": WANTED["target"]})
    path = answer.headers["location"]
    assert "Nothing was sent yet" in browser.get(path).content.decode()
    browser.post(f"{path}test/")
    assert "data-moving" in polled(browser, path).content.decode()
    browser.post(f"{path}delete/", {"name": "another"})
    assert AlertChannel.objects.exists()
    browser.post(f"{path}delete/", {"name": "on call"})
    assert not AlertChannel.objects.exists()


def test_limits_are_stored_and_an_empty_one_is_not_watched(cast: Cast) -> None:
    rest, browser = client_of(cast.member), signed_in(cast.member)
    assert rest.get("/v1/alert_limits")[1] == {
        "error_share_percent": 5.0, "first_token_seconds": None, "monthly_budget": None,
    }  # fmt: skip
    browser.post("/alerts/limits/", {"error_share_percent": "", "first_token_seconds": "2.5"})
    assert rest.get("/v1/alert_limits")[1] == {
        "error_share_percent": None, "first_token_seconds": 2.5, "monthly_budget": None,
    }  # fmt: skip
    assert rest.patch("/v1/alert_limits", {"error_share_percent": 101})[0] == 400
