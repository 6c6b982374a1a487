"""A code beside the password, and the browsers in which somebody is signed in."""

import re
from base64 import b32decode
from datetime import UTC, datetime

import pytest
from django.conf import settings
from django.test import Client
from django_otp.oath import TOTP
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice
from time_machine import TimeMachineFixture

from apps.accounts.hashing import session_key_kept
from apps.accounts.key_ring import KeyRingError, key_ring_load
from apps.accounts.models import Authenticator, BrowserSession, User
from apps.accounts.signing_in.two_steps import two_steps_begin, two_steps_confirm
from controlplane.clock import SYSTEM
from tests.factories import make_user

pytestmark = pytest.mark.django_db

PASSWORD = "correct horse battery"


@pytest.fixture(autouse=True)
def _one_moment(time_machine: TimeMachineFixture) -> None:
    stop_the_clock_of_codes(time_machine)


def stop_the_clock_of_codes(time_machine: TimeMachineFixture) -> None:
    """Let no code end between its making and its use, however long the test takes."""
    time_machine.move_to(datetime(2026, 11, 27, 12, 0, 10, tzinfo=UTC), tick=False)


@pytest.fixture
def ada() -> User:
    return make_user(email="ada@example.com", password=PASSWORD)


def signed_in_by_password(user: User) -> Client:
    browser = Client(headers={"user-agent": "Firefox"})
    browser.post("/sign-in/", {"email": user.email, "password": PASSWORD})
    return browser


def code_of(user: User, *, later: int = 0) -> str:
    device = Authenticator.objects.get(user=user)
    totp = TOTP(device.bin_key, drift=later)
    totp.time = SYSTEM.time()
    return f"{totp.token():06d}"


def test_the_code_is_asked_for_after_the_password_and_works_once(ada: User) -> None:
    two_steps_begin(user=ada)
    two_steps_confirm(user=ada, code=code_of(ada))
    browser = Client()
    form = {"email": ada.email, "password": PASSWORD, "next": "/builds/"}
    step = browser.post("/sign-in/", form)
    assert step.headers["Location"] == "/sign-in/code/?next=%2Fbuilds%2F"
    assert browser.get("/builds/").status_code == 302, "the password alone opens nothing"
    used = browser.post("/sign-in/code/", {"code": code_of(ada)})
    assert used.status_code == 401, "the code that confirmed the device is spent"
    Authenticator.objects.update(throttling_failure_count=0)
    right = browser.post("/sign-in/code/", {"code": code_of(ada, later=1), "next": "/builds/"})
    assert right.headers["Location"] == "/builds/"
    assert browser.get("/builds/").status_code == 200


def test_a_code_without_a_password_leads_back_to_the_form() -> None:
    assert Client().get("/sign-in/code/").headers["Location"] == "/sign-in/"
    assert Client().post("/sign-in/code/", {"code": "123456"}).headers["Location"] == "/sign-in/"


def test_it_is_set_up_on_the_page_and_recovery_codes_work_once(ada: User) -> None:
    browser = signed_in_by_password(ada)
    begun = browser.post("/account/two-steps/begin/").content.decode()
    assert 'src="data:image/svg' in begun
    wrong = browser.post("/account/two-steps/confirm/", {"code": "000000"}, follow=True)
    assert "This code is not right" in wrong.content.decode()
    Authenticator.objects.update(throttling_failure_count=0)
    done = browser.post("/account/two-steps/confirm/", {"code": code_of(ada)}).content.decode()
    codes = re.search(r"<pre>(.*?)</pre>", done, re.DOTALL)
    assert codes is not None
    first = codes[1].split()[0]
    assert len(codes[1].split()) == 10
    for expected in (302, 401):
        other = signed_in_by_password(ada)
        assert other.post("/sign-in/code/", {"code": first}).status_code == expected
    browser.post("/account/two-steps/end/", {"password": "wrong"})
    assert Authenticator.objects.exists()
    browser.post("/account/two-steps/end/", {"password": PASSWORD})
    assert not Authenticator.objects.exists()


def test_browsers_are_listed_and_signed_out_one_by_one(ada: User) -> None:
    here, there = signed_in_by_password(ada), signed_in_by_password(ada)
    page = here.get("/account/").content.decode()
    assert page.count("Firefox") == 2
    assert page.count("this one") == 1
    listed = BrowserSession.objects.get(session_key=session_key_kept(there.session.session_key))
    here.post(f"/account/browsers/{listed.id}/end/")
    assert there.get("/").status_code == 302
    assert here.get("/").status_code == 200


def test_nobody_signs_out_a_browser_of_another(ada: User) -> None:
    eve = make_user(email="eve@example.com", password=PASSWORD)
    hers = signed_in_by_password(ada)
    browser = BrowserSession.objects.get(user=ada)
    signed_in_by_password(eve).post(f"/account/browsers/{browser.id}/end/")
    assert hers.get("/").status_code == 200


def test_a_new_password_signs_the_other_browsers_out(ada: User) -> None:
    here, there = signed_in_by_password(ada), signed_in_by_password(ada)
    new = "another long password"
    refused = here.post("/account/password/", {"old": "wrong", "new": new}, follow=True)
    assert "present password is not right" in refused.content.decode()
    weak = here.post("/account/password/", {"old": PASSWORD, "new": "short"}, follow=True)
    assert "at least 12 characters" in weak.content.decode()
    here.post("/account/password/", {"old": PASSWORD, "new": new})
    assert here.get("/account/").status_code == 200
    assert there.get("/").status_code == 302
    assert BrowserSession.objects.filter(user=ada).count() == 1


def test_signing_out_takes_the_browser_off_the_list(ada: User) -> None:
    signed_in_by_password(ada).post("/sign-out/")
    assert not BrowserSession.objects.exists()


def test_the_seed_is_sealed_at_rest_and_opens_for_its_person_alone(ada: User) -> None:
    key = two_steps_begin(user=ada).key
    kept = TOTPDevice.objects.get(user=ada)
    assert kept.key.startswith(f"{key_ring_load(settings.KEY_RING_FILE).primary}:")
    assert b32decode(key).hex() not in kept.key
    assert Authenticator.objects.get(user=ada).bin_key == b32decode(key)
    TOTPDevice.objects.filter(user=ada).update(user=make_user())
    with pytest.raises(KeyRingError):
        _ = Authenticator.objects.get().bin_key


def test_a_seed_of_a_release_that_kept_it_plain_works_and_is_sealed_when_it_is_used(
    ada: User,
) -> None:
    plain = TOTPDevice.objects.create(user=ada).key
    browser = signed_in_by_password(ada)
    assert browser.post("/sign-in/code/", {"code": code_of(ada)}).status_code == 302
    assert plain not in TOTPDevice.objects.get().key
    assert Authenticator.objects.get().bin_key.hex() == plain


def test_a_seed_that_does_not_open_leaves_the_recovery_codes(ada: User) -> None:
    two_steps_begin(user=ada)
    codes = two_steps_confirm(user=ada, code=code_of(ada))
    TOTPDevice.objects.update(key="k0123456789ab:" + "A" * 64)
    browser = signed_in_by_password(ada)
    assert browser.post("/sign-in/code/", {"code": "123456"}).status_code == 401
    StaticDevice.objects.update(throttling_failure_count=0)
    assert browser.post("/sign-in/code/", {"code": codes[0]}).status_code == 302


def test_recovery_codes_are_kept_as_hashes_and_typed_in_any_spelling(ada: User) -> None:
    two_steps_begin(user=ada)
    first, second, *_others = two_steps_confirm(user=ada, code=code_of(ada))
    kept = list(StaticToken.objects.values_list("token", flat=True))
    assert not {each for each in (first, second) if each in kept or each.replace("-", "") in kept}
    for spelling in (first.upper(), second.replace("-", " ")):
        browser = signed_in_by_password(ada)
        assert browser.post("/sign-in/code/", {"code": spelling}).status_code == 302
    used = signed_in_by_password(ada)
    assert used.post("/sign-in/code/", {"code": kept[-1]}).status_code == 401
