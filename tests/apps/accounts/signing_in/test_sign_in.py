"""Ways in: a one-time link, and a password that cannot be guessed at leisure."""

from datetime import timedelta
from io import StringIO

import pytest
from asgiref.sync import async_to_sync
from axes.models import AccessAttempt
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command
from django.http import HttpRequest
from django.test import Client, RequestFactory
from django.urls import reverse
from pytest_django import Settings

from apps.accounts.models import ApiKey, BrowserSession, SignInLink, Team, User
from apps.accounts.services.bootstrap import admin_bootstrap
from apps.accounts.signing_in.links import (
    sign_in_link_create,
    sign_in_link_redeem,
    sign_in_link_url,
)
from apps.accounts.signing_in.services import password_sign_in, sign_out
from apps.accounts.signing_in.sessions import SessionStore
from apps.rest.errors import TooMany, Unauthenticated
from controlplane import clock
from controlplane import settings as product
from tests.factories import make_user

pytestmark = pytest.mark.django_db

PASSWORD = "correct horse battery"


def request_from(address: str = "10.0.0.1") -> HttpRequest:
    request = RequestFactory().post("/", REMOTE_ADDR=address)
    request.session = SessionStore()
    return request


def test_the_first_start_makes_one_team_and_one_admin() -> None:
    first, second = admin_bootstrap(), admin_bootstrap()
    assert first.admin == second.admin == User.objects.get()
    assert first.team == Team.objects.get(is_default=True)
    assert (first.admin.email, first.admin.is_admin) == ("admin@localhost", True)
    assert not first.admin.has_usable_password()


def test_there_is_a_token_until_somebody_has_signed_in() -> None:
    token = admin_bootstrap().sign_in_token
    assert token is not None
    user = sign_in_link_redeem(token)
    assert user is not None
    user.last_login = clock.now()
    user.save()
    assert admin_bootstrap().sign_in_token is None


def test_a_link_is_the_address_of_its_page(settings: Settings) -> None:
    settings.PUBLIC_URL = "https://models.example.com"
    path = reverse("accounts:sign_in_link", kwargs={"token": "of-one-link"})
    assert sign_in_link_url("of-one-link") == f"https://models.example.com{path}"


def test_a_link_lets_its_person_in_once() -> None:
    user = make_user()
    token = sign_in_link_create(user=user)
    assert sign_in_link_redeem(token) == user
    assert sign_in_link_redeem(token) is None
    assert not SignInLink.objects.filter(token_sha256=token).exists()


def test_a_link_that_is_old_unknown_or_of_nobody_active_lets_nobody_in() -> None:
    user = make_user()
    old, of_gone = sign_in_link_create(user=user), sign_in_link_create(user=make_user())
    SignInLink.objects.filter(user=user).update(expires_at=clock.now() - timedelta(seconds=1))
    User.objects.exclude(id=user.id).update(is_active=False)
    assert [sign_in_link_redeem(each) for each in (old, of_gone, "unknown", "")] == [None] * 4


def test_a_password_lets_its_person_in_under_a_new_session_key(settings: Settings) -> None:
    settings.PASSWORD_HASHERS = product.PASSWORD_HASHERS
    user = make_user(email="ada@example.com", password=PASSWORD)
    assert user.password.startswith("argon2$argon2id$v=19$m=102400,t=2,p=8$")
    request = request_from()
    request.session.create()
    before = request.session.session_key
    assert password_sign_in(request=request, email="ADA@example.com ", password=PASSWORD) == user
    assert request.session.session_key != before
    sign_out(request=request)
    assert not request.session.keys()


def test_nobody_comes_in_without_an_entry_in_the_audit_trail(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    user = make_user(email="ada@example.com", password=PASSWORD)
    monkeypatch.setattr("apps.accounts.signing_in.services.audit", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        password_sign_in(request=request_from(), email=user.email, password=PASSWORD)
    assert not user.browser_sessions.exists()
    assert not Session.objects.exists()


def test_a_wrong_password_and_an_unknown_address_get_the_same_words() -> None:
    make_user(email="ada@example.com", password=PASSWORD)
    words = []
    for email in ("ada@example.com", "nobody@example.com"):
        with pytest.raises(Unauthenticated) as caught:
            password_sign_in(request=request_from(), email=email, password="wrong")
        words.append(caught.value.message)
    assert words[0] == words[1]


def test_ten_failures_lock_the_account_for_that_address_only(
    settings: Settings,
) -> None:
    settings.AXES_FAILURE_LIMIT = 3
    make_user(email="ada@example.com", password=PASSWORD)
    for _ in range(2):
        with pytest.raises(Unauthenticated):
            password_sign_in(request=request_from(), email="ada@example.com", password="wrong")
    with pytest.raises(TooMany):
        password_sign_in(request=request_from(), email="ada@example.com", password="wrong")
    with pytest.raises(TooMany) as caught:
        password_sign_in(request=request_from(), email="Ada@example.com", password=PASSWORD)
    assert "15 min" in str(caught.value.hint)
    assert password_sign_in(
        request=request_from("10.0.0.2"), email="ada@example.com", password=PASSWORD
    )
    AccessAttempt.objects.update(attempt_time=clock.now() - timedelta(minutes=16))
    assert password_sign_in(request=request_from(), email="ada@example.com", password=PASSWORD)


def test_an_address_that_failed_on_many_accounts_meets_a_brake() -> None:
    make_user(email="ada@example.com", password=PASSWORD)
    for number in range(product.SIGN_IN_ACCOUNTS_PER_ADDRESS):
        with pytest.raises(Unauthenticated):
            password_sign_in(
                request=request_from(), email=f"person-{number}@example.com", password="Spring2026"
            )
    for email in ("ada@example.com", "person-0@example.com", "next@example.com"):
        with pytest.raises(TooMany) as caught:
            password_sign_in(request=request_from(), email=email, password=PASSWORD)
        assert "too many accounts failed from 10.0.0.1" in caught.value.message
    assert password_sign_in(
        request=request_from("10.0.0.2"), email="ada@example.com", password=PASSWORD
    )
    AccessAttempt.objects.update(attempt_time=clock.now() - timedelta(minutes=16))
    assert password_sign_in(request=request_from(), email="ada@example.com", password=PASSWORD)


@pytest.mark.parametrize(
    ("others", "same", "elsewhere"),
    [
        ("2001:db8:1:2::{}", "2001:db8:1:2:ffff:ffff:ffff:ffff", "2001:db8:1:3::1"),
        ("fe80::{}%eth0", "fe80::ffff", "fe80:0:0:1::1"),
        ("::ffff:10.0.0.1", "10.0.0.1", "::ffff:10.0.0.2"),
        ("10.0.0.1", "::ffff:10.0.0.1", "10.0.0.2"),
    ],
)
def test_an_ipv6_network_of_one_host_counts_as_one_address(
    settings: Settings, others: str, same: str, elsewhere: str
) -> None:
    settings.SIGN_IN_ACCOUNTS_PER_ADDRESS = 3
    make_user(email="ada@example.com", password=PASSWORD)
    for number in range(1, 4):
        tried = {"email": f"person-{number}@example.com", "password": "Spring2026"}
        with pytest.raises(Unauthenticated):
            password_sign_in(request=request_from(others.format(number)), **tried)
    right = {"email": "ada@example.com", "password": PASSWORD}
    with pytest.raises(TooMany) as caught:
        password_sign_in(request=request_from(same), **right)
    assert ("/64" in caught.value.message) is (":" in others and "." not in others)
    assert password_sign_in(request=request_from(elsewhere), **right)


def test_one_host_does_not_escape_an_accounts_lock_by_another_address_of_its_network(
    settings: Settings,
) -> None:
    settings.AXES_FAILURE_LIMIT = 3
    make_user(email="ada@example.com", password=PASSWORD)
    expected = (Unauthenticated, Unauthenticated, TooMany, TooMany)
    for number, error in enumerate(expected):
        password = PASSWORD if number == 3 else "wrong"
        with pytest.raises(error) as caught:
            password_sign_in(
                request=request_from(f"2001:db8::{number}"),
                email="ada@example.com",
                password=password,
            )
    assert "from 2001:db8::/64" in caught.value.message


@pytest.mark.parametrize("address", ["", "unix:", "not an address"])
def test_who_comes_from_nowhere_that_can_be_told_signs_in(address: str) -> None:
    make_user(email="ada@example.com", password=PASSWORD)
    right = {"email": "ada@example.com", "password": PASSWORD}
    with pytest.raises(Unauthenticated):
        password_sign_in(request=request_from(address), email=right["email"], password="wrong")
    assert password_sign_in(request=request_from(address), **right)


def test_one_account_that_fails_again_and_again_is_one_account(settings: Settings) -> None:
    settings.SIGN_IN_ACCOUNTS_PER_ADDRESS = 2
    make_user(email="ada@example.com", password=PASSWORD)
    for spelling in ("bea@example.com", "BEA@example.com", "Bea@example.com"):
        with pytest.raises(Unauthenticated):
            password_sign_in(request=request_from(), email=spelling, password="wrong")
    assert password_sign_in(request=request_from(), email="ada@example.com", password=PASSWORD)


def test_what_was_typed_is_not_kept_with_a_failure() -> None:
    with pytest.raises(Unauthenticated):
        password_sign_in(request=request_from(), email="my secret pass", password="hunter22")
    kept = str(list(AccessAttempt.objects.values()))
    assert "my secret pass" not in kept
    assert "hunter22" not in kept


def test_a_sign_in_link_lifts_the_lock_of_its_person(settings: Settings) -> None:
    settings.AXES_FAILURE_LIMIT = 1
    make_user(email="ada@example.com", password=PASSWORD)
    with pytest.raises(TooMany):
        password_sign_in(request=request_from(), email="ada@example.com", password="wrong")
    call_command("sign_in_link", "ADA@example.com", stdout=StringIO())
    assert password_sign_in(request=request_from(), email="ada@example.com", password=PASSWORD)


def test_a_session_may_read_and_needs_the_csrf_token_to_write() -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(make_user())
    assert browser.get("/v1/users/me").status_code == 200
    body = {"type": "PERSONAL"}
    refused = browser.post("/v1/api_keys", body, content_type="application/json")
    assert (refused.status_code, refused.json()["code"]) == (403, "not_allowed")
    browser.cookies["csrftoken"] = "a" * 32
    allowed = browser.post(
        "/v1/api_keys", body, content_type="application/json", headers={"x-csrftoken": "a" * 32}
    )
    assert allowed.status_code == 200


def test_the_command_makes_a_key_of_the_default_team() -> None:
    output = StringIO()
    call_command("create_api_key", "ci", "--type", "WORKSPACE_INVOKE", stdout=output)
    key = ApiKey.objects.get(prefix=output.getvalue()[:8])
    assert (key.name, key.type, key.team.is_default) == ("ci", "WORKSPACE_INVOKE", True)
    with pytest.raises(CommandError, match="no team `nowhere`"):
        call_command("create_api_key", "ci", "--team", "nowhere")


def test_the_link_command_refuses_an_unknown_address() -> None:
    with pytest.raises(CommandError, match="nobody@"):
        call_command("sign_in_link", "nobody@example.com")


def test_the_link_command_prints_an_address_that_lets_the_admin_in(settings: Settings) -> None:
    output = StringIO()
    call_command("sign_in_link", stdout=output)
    address = output.getvalue().strip()
    assert address.startswith(settings.PUBLIC_URL)
    browser = Client()
    path = address.removeprefix(settings.PUBLIC_URL)
    assert browser.get(path).status_code == 200
    assert browser.post(path).status_code == 302
    assert browser.get("/v1/users/me").json()["email"] == "admin@localhost"
    assert Client().post(path).status_code == 410


def test_who_reads_the_table_of_sessions_is_nobody_by_it() -> None:
    make_user(email="ada@example.com", password=PASSWORD)
    browser = Client()
    browser.post("/sign-in/", {"email": "ada@example.com", "password": PASSWORD})
    key = browser.cookies["sessionid"].value
    kept = Session.objects.get().session_key
    assert kept not in (key, "")
    assert list(BrowserSession.objects.values_list("session_key", flat=True)) == [kept]
    thief = Client()
    thief.cookies["sessionid"] = kept
    assert thief.get("/account/").status_code == 302
    assert browser.get("/account/").status_code == 200
    assert browser.get("/account/").content.decode().count("this one") == 1
    browser.post("/sign-out/")
    assert not Session.objects.filter(session_key=kept).exists()


def test_a_session_is_kept_and_found_by_the_loop_as_by_threads() -> None:
    async def kept_and_found() -> tuple[object, bool, bool]:
        store = SessionStore()
        await store.aset("colour", "green")
        await store.asave()
        again = SessionStore(store.session_key)
        colour = await again.aget("colour")
        before = await store.aexists(str(store.session_key))
        await again.adelete()
        return colour, before, await store.aexists(str(store.session_key))

    assert async_to_sync(kept_and_found)() == ("green", True, False)
