"""Signing in through a real OpenID Connect provider on the loopback."""

import socket
import warnings
from collections.abc import Iterator, Mapping
from copy import deepcopy
from io import StringIO
from typing import Any

import httpx
import pytest
from django.conf import settings as django_settings
from django.core.management import call_command
from django.test import Client
from pytest_django import Settings

from apps.accounts.models import AuditEntry, Membership, User
from apps.accounts.services.bootstrap import admin_bootstrap
from apps.accounts.signing_in.oidc.claims import ClaimsRefused, vouched_in
from tests.factories import make_user
from tests.web_server import NO_CERTIFICATES

# The provider stands on parts of Authlib that are on their way out.
pytestmark = [pytest.mark.django_db, pytest.mark.filterwarnings("ignore::DeprecationWarning")]
PATIENCE = 60
CALL: Mapping[str, Any] = {"timeout": PATIENCE, "verify": NO_CERTIFICATES}


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    with warnings.catch_warnings(record=True):  # Authlib insists on showing one as it is imported
        import oidc_provider_mock

    with oidc_provider_mock.run_server_in_thread() as server:
        yield f"http://localhost:{server.server_port}"


@pytest.fixture(autouse=True)
def provider(issuer: str, settings: Settings) -> None:
    providers: Any = deepcopy(django_settings.SOCIALACCOUNT_PROVIDERS)
    providers["openid_connect"]["APPS"] = [
        {
            "provider_id": "oidc",
            "name": "Company login",
            "client_id": "enginehouse",
            "secret": "a secret of the client",
            "settings": {"server_url": issuer},
        }
    ]
    settings.SOCIALACCOUNT_PROVIDERS = providers
    settings.SOCIALACCOUNT_REQUESTS_TIMEOUT = PATIENCE
    settings.OIDC_ISSUER_URL = issuer
    settings.OIDC_NAME = "Company login"


def vouch(issuer: str, subject: str, **claims: Any) -> None:
    answer = httpx.put(f"{issuer}/users/{subject}", json=claims, **CALL)
    answer.raise_for_status()


def come_in(browser: Client, subject: str, *, wanted: str = "/", nonce: str = "") -> Any:
    """Go to the provider, agree there, and come back; return the answer to the way back."""
    away = browser.get(f"/sign-in/oidc/login/?next={wanted}")
    assert away.status_code == 302, away.content
    address = httpx.URL(away.headers["Location"])
    if nonce:
        address = address.copy_set_param("nonce", nonce)
    agreed = httpx.post(address, data={"sub": subject}, **CALL)
    back = agreed.headers["Location"]
    return browser.get(back.removeprefix("http://testserver"))


def test_who_has_an_account_comes_in_by_a_verified_address(issuer: str) -> None:
    ada = make_user(email="ada@example.com")
    vouch(issuer, "ada", email="Ada@Example.com", email_verified=True)
    browser = Client()
    assert "Company login" in browser.get("/sign-in/").content.decode()
    assert come_in(browser, "ada", wanted="/builds/").headers["Location"] == "/builds/"
    assert browser.get("/builds/").status_code == 200
    assert ada.browser_sessions.get().way == "oidc"


def test_the_subject_is_remembered_when_the_address_changes(issuer: str) -> None:
    make_user(email="bea@example.com")
    vouch(issuer, "bea", email="bea@example.com", email_verified=True)
    come_in(Client(), "bea")
    vouch(issuer, "bea", email="beatrix@example.com", email_verified=True)
    browser = Client()
    come_in(browser, "bea")
    assert "bea@example.com" in browser.get("/account/").content.decode()


@pytest.mark.parametrize(
    ("claims", "says"),
    [
        ({"email": "eve@example.com", "email_verified": False}, "has not verified"),
        ({"email": "nobody@example.com", "email_verified": True}, "has no account here"),
        ({}, "told no e-mail address"),
        ({"email": "l\u0131sa@example.com", "email_verified": True}, "letters beyond ASCII"),
        ({"email": "li\u017fa@example.com", "email_verified": True}, "letters beyond ASCII"),
        ({"email": "eve@example.com", "email_verified": "true"}, "has not verified"),
        ({"email": "eve@example.com", "email_verified": 1}, "has not verified"),
        ({"email": "eve@example.com"}, "has not verified"),
        ({"email": "eve@example.com\x00", "email_verified": True}, "printable"),
        ({"email": "x" * 300 + "@example.com", "email_verified": True}, "printable"),
        ({"email": ["eve@example.com"], "email_verified": True}, "no text"),
        ({"email": "a@eve@example.com", "email_verified": True}, "needs one `@`"),
        ({"email": "new@elsewhere.org@welcome.example", "email_verified": True}, "one `@`"),
    ],
)
def test_who_is_not_known_for_sure_stays_out(
    issuer: str, claims: dict[str, Any], says: str, settings: Settings
) -> None:
    settings.OIDC_DOMAINS = ["welcome.example"]
    make_user(email="eve@example.com")
    make_user(email="lisa@example.com", is_admin=True)
    vouch(issuer, "someone", **claims)
    browser = Client()
    answer = come_in(browser, "someone")
    assert answer.headers["Location"] == "/sign-in/"
    assert says in browser.get("/sign-in/").content.decode()
    assert browser.get("/").status_code == 302


def test_a_mailbox_that_goes_to_somebody_else_does_not_take_the_account_with_it(
    issuer: str,
) -> None:
    make_user(email="fay@example.com")
    vouch(issuer, "fay-1", email="fay@example.com", email_verified=True)
    assert come_in(Client(), "fay-1").headers["Location"] == "/"
    vouch(issuer, "fay-2", email="fay@example.com", email_verified=True)
    browser = Client()
    assert come_in(browser, "fay-2").headers["Location"] == "/sign-in/"
    assert "vouches for another account" in browser.get("/sign-in/").content.decode()
    call_command("single_sign_on_forget", "Fay@example.com", stdout=StringIO())
    assert come_in(browser, "fay-2").headers["Location"] == "/"
    assert AuditEntry.objects.filter(action="account.join_single_sign_on").count() == 2


def test_a_subject_of_another_issuer_is_somebody_else(issuer: str, settings: Settings) -> None:
    make_user(email="gil@example.com")
    vouch(issuer, "gil", email="gil@example.com", email_verified=True)
    assert come_in(Client(), "gil").headers["Location"] == "/"
    other = issuer.replace("localhost", "127.0.0.1")
    vouch(other, "gil", email="somebody@example.com", email_verified=True)
    providers: Any = deepcopy(settings.SOCIALACCOUNT_PROVIDERS)
    providers["openid_connect"]["APPS"][0]["settings"]["server_url"] = other
    settings.SOCIALACCOUNT_PROVIDERS = providers
    browser = Client()
    assert come_in(browser, "gil").headers["Location"] == "/sign-in/"
    assert "has no account here" in browser.get("/sign-in/").content.decode()


def test_an_id_token_of_another_sign_in_is_refused(issuer: str) -> None:
    make_user(email="hal@example.com")
    vouch(issuer, "hal", email="hal@example.com", email_verified=True)
    browser = Client()
    assert come_in(browser, "hal", nonce="of-another").headers["Location"] == "/sign-in/"
    assert "answered another sign-in" in browser.get("/sign-in/").content.decode()


def test_an_address_of_ours_cannot_change_what_the_provider_is_asked() -> None:
    answer = Client().get("/sign-in/oidc/login/?scope=admin&auth_params=nonce%3Dx%26prompt%3Dnone")
    report = httpx.URL(answer.headers["Location"]).params
    assert set(report["scope"].split()) == {"openid", "profile", "email"}
    assert "prompt" not in report
    assert len(report["nonce"]) > 40


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"id_token": None, "userinfo": {"sub": "a"}},
        {"id_token": [], "userinfo": {}},
        {"id_token": {"iss": "i", "sub": "a\x00", "nonce": "n"}},
        {"id_token": {"iss": "i", "sub": 7, "nonce": "n"}},
        {"id_token": {"iss": "i", "sub": "", "nonce": "n"}},
        {"id_token": {"iss": "i", "sub": "a" * 256, "nonce": "n"}},
        {"id_token": {"iss": "i", "sub": "a"}},
        {"id_token": {"iss": "i", "sub": "a", "nonce": "n"}, "userinfo": {"sub": "b"}},
        {"id_token": {"iss": "i", "sub": "a", "nonce": "n"}, "userinfo": {"email": "a@b.example"}},
    ],
)
def test_words_of_a_provider_that_say_nobody_for_sure_are_refused(answer: dict[str, Any]) -> None:
    with pytest.raises(ClaimsRefused):
        vouched_in(answer)


MINE = {"email": "mine@a.example", "email_verified": True}
LISA = {"email": "lisa@a.example"}


@pytest.mark.parametrize(
    ("token", "userinfo", "email"),
    [
        (MINE, LISA, "mine@a.example"),
        (MINE, LISA | {"email_verified": False}, "mine@a.example"),
        (MINE, LISA | {"email_verified": True}, "mine@a.example"),
        (LISA, MINE, "mine@a.example"),
        (MINE, {"email": None}, "mine@a.example"),
        (MINE, {"email_verified": False}, "mine@a.example"),
        ({}, MINE, "mine@a.example"),
        (LISA, {"email_verified": True}, None),
        ({"email_verified": True}, LISA, None),
        (LISA | {"email_verified": False}, LISA, None),
        ({"email_verified": True}, {"email_verified": True}, None),
    ],
)
def test_an_address_and_the_word_that_it_is_verified_are_of_one_document(
    token: dict[str, Any], userinfo: dict[str, Any], email: str | None
) -> None:
    token = {"iss": "i", "sub": "a", "nonce": "n"} | token
    vouched = vouched_in({"id_token": token, "userinfo": {"sub": "a"} | userinfo})
    if email is None:
        with pytest.raises(ClaimsRefused):
            vouched.email()
    else:
        assert vouched.email() == email


def test_a_name_is_taken_as_far_as_it_can_be_shown() -> None:
    token = {"iss": "i", "sub": "a", "nonce": "n"}
    assert vouched_in({"id_token": token | {"name": "A\x00da\n" + "x" * 200}}).name == (
        "Ada" + "x" * 147
    )
    assert vouched_in({"id_token": token | {"name": ["Ada"]}}).name == ""


def test_a_welcome_domain_makes_a_member_of_the_default_team(
    issuer: str, settings: Settings
) -> None:
    settings.OIDC_DOMAINS = ["welcome.example"]
    team = admin_bootstrap().team
    vouch(issuer, "new", email="new@welcome.example", email_verified=True, name="New Person")
    browser = Client()
    come_in(browser, "new")
    assert browser.get("/").status_code == 200
    made = User.objects.get(email="new@welcome.example")
    assert (made.name, made.is_admin) == ("New Person", False)
    assert Membership.objects.get(user=made).team == team
    assert AuditEntry.objects.get(action="member.add").target_label == made.email


def test_the_provider_does_not_bring_back_who_was_deactivated(
    issuer: str, settings: Settings
) -> None:
    settings.OIDC_DOMAINS = ["example.com"]
    admin_bootstrap()
    make_user(email="gone@example.com", is_active=False)
    vouch(issuer, "gone", email="gone@example.com", email_verified=True)
    browser = Client()
    come_in(browser, "gone")
    assert browser.get("/").status_code == 302


def test_an_answer_that_nobody_asked_for_is_refused() -> None:
    browser = Client()
    answer = browser.get("/sign-in/oidc/login/callback/?code=x&state=forged")
    assert answer.headers["Location"] == "/sign-in/"
    assert "did not sign you in" in browser.get("/sign-in/").content.decode()


def test_a_provider_that_does_not_answer_leads_back_to_the_form(settings: Settings) -> None:
    with socket.socket() as nobody:  # bound, and not listening
        nobody.bind(("127.0.0.1", 0))
        providers: Any = deepcopy(settings.SOCIALACCOUNT_PROVIDERS)
        address = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        providers["openid_connect"]["APPS"][0]["settings"]["server_url"] = address
        settings.SOCIALACCOUNT_PROVIDERS = providers
        browser = Client()
        assert browser.get("/sign-in/oidc/login/").headers["Location"] == "/sign-in/"
    assert "did not sign you in (ConnectionError)" in browser.get("/sign-in/").content.decode()


def test_without_a_provider_there_is_no_button_and_no_way(settings: Settings) -> None:
    settings.OIDC_ISSUER_URL = None
    providers: Any = deepcopy(django_settings.SOCIALACCOUNT_PROVIDERS)
    providers["openid_connect"]["APPS"] = []
    settings.SOCIALACCOUNT_PROVIDERS = providers
    assert "Company login" not in Client().get("/sign-in/").content.decode()
    assert Client().get("/sign-in/oidc/login/").status_code == 404
