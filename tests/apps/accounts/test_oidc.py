"""Signing in through a real OpenID Connect provider on the loopback."""

import warnings
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

import httpx
import pytest
from django.conf import settings as django_settings
from django.test import Client
from pytest_django import Settings

from apps.accounts.models import AuditEntry, Membership, User
from apps.accounts.services import admin_bootstrap
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
    told = httpx.put(f"{issuer}/users/{subject}", json=claims, **CALL)
    told.raise_for_status()


def come_in(browser: Client, subject: str, *, wanted: str = "/") -> Any:
    """Go to the provider, agree there, and come back; return the answer to the way back."""
    away = browser.get(f"/sign-in/oidc/login/?next={wanted}")
    assert away.status_code == 302, away.content
    agreed = httpx.post(away.headers["Location"], data={"sub": subject}, **CALL)
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
    ],
)
def test_who_is_not_known_for_sure_stays_out(
    issuer: str, claims: dict[str, Any], says: str
) -> None:
    make_user(email="eve@example.com")
    vouch(issuer, "someone", **claims)
    browser = Client()
    answer = come_in(browser, "someone")
    assert answer.headers["Location"] == "/sign-in/"
    assert says in browser.get("/sign-in/").content.decode()
    assert browser.get("/").status_code == 302


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


def test_without_a_provider_there_is_no_button_and_no_way(settings: Settings) -> None:
    settings.OIDC_ISSUER_URL = None
    providers: Any = deepcopy(django_settings.SOCIALACCOUNT_PROVIDERS)
    providers["openid_connect"]["APPS"] = []
    settings.SOCIALACCOUNT_PROVIDERS = providers
    assert "Company login" not in Client().get("/sign-in/").content.decode()
    assert Client().get("/sign-in/oidc/login/").status_code == 404
