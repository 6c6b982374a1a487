"""An address has one normal form, wherever it is counted, looked up, invited and compared."""

from io import StringIO

import pytest
from django.contrib.auth import authenticate
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction
from django.http import HttpRequest
from django.test import Client, RequestFactory
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from apps.accounts.models import AuditEntry, Invitation, TeamRole, User
from apps.accounts.people.emails import checked_email, normal_email
from apps.accounts.people.invitations import invitation_accept, invitation_create
from apps.accounts.selectors import user_by_email
from apps.accounts.signing_in.services import password_sign_in
from apps.accounts.signing_in.sessions import SessionStore
from apps.rest.errors import Conflict, InvalidInput, TooMany, Unauthenticated
from tests.factories import make_team, make_user

pytestmark = pytest.mark.django_db

PASSWORD = "correct horse battery"
DOTLESS, LONG_S, KELVIN = "l\u0131sa@example.com", "li\u017fa@example.com", "\u212aim@example.com"


def request_from(address: str = "10.0.0.1") -> HttpRequest:
    request = RequestFactory().post("/", REMOTE_ADDR=address)
    request.session = SessionStore()
    return request


@given(st.text(max_size=40))
def test_the_normal_form_of_a_normal_form_is_itself(email: str) -> None:
    assert normal_email(normal_email(email)) == normal_email(email)


def test_case_blanks_and_compatible_letters_make_no_difference() -> None:
    same = (" Lisa@Example.COM ", "LISA@example.com", "\uff4cisa@example.com", LONG_S)
    assert {normal_email(each) for each in same} == {"lisa@example.com"}
    assert normal_email(DOTLESS) != "lisa@example.com"


@pytest.mark.parametrize(
    "email",
    [
        *(DOTLESS, LONG_S, KELVIN, "l\u00efsa@example.com"),
        *("lisa", "a@b@example.com", '"a@b"@example.com', "@example.com", "lisa@", ""),
        *("lisa\x00@example.com", "lisa@example.com\n.org", "lisa\u200b@example.com"),
        *("lisa@ex\u0131mple.com", "lisa@b\u00fccher.example", "x" * 250 + "@example.com"),
    ],
)
def test_an_address_that_could_be_taken_for_another_is_not_stored(email: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        invitation_create(team=make_team(), email=email, role=TeamRole.MEMBER, user=None)
    assert caught.value.fields == ("email",)
    assert not Invitation.objects.exists()


def test_an_installation_may_allow_letters_beyond_ascii_that_stay_themselves(
    settings: Settings,
) -> None:
    settings.NON_ASCII_EMAILS = True
    for email in ("Zo\u00eb@example.com", "\u043b\u0438\u0437\u0430@example.com", DOTLESS):
        assert checked_email(email) == email
    for email in (LONG_S, KELVIN, "wei\u00df@example.com", "\uff4cisa@example.com"):
        with pytest.raises(InvalidInput, match="folds into ASCII"):
            checked_email(email)


def test_a_look_alike_is_nobody_and_every_spelling_is_one_person() -> None:
    lisa = make_user(email="Lisa@Example.com", password=PASSWORD)
    assert user_by_email("LISA@example.com") == lisa
    assert user_by_email(DOTLESS) is None
    request = request_from()
    assert authenticate(request, username=DOTLESS, password=PASSWORD) is None
    assert authenticate(request, username="lisa@EXAMPLE.com", password=PASSWORD) == lisa


def test_two_people_cannot_have_one_address() -> None:
    make_user(email="Lisa@example.com")
    with pytest.raises(IntegrityError), transaction.atomic():
        make_user(email="lisa@EXAMPLE.com")


def test_no_spelling_passes_a_lock(settings: Settings) -> None:
    settings.AXES_FAILURE_LIMIT = 3
    make_user(email="lisa@example.com", password=PASSWORD)
    for email in ("lisa@example.com", "LISA@example.com"):
        with pytest.raises(Unauthenticated):
            password_sign_in(request=request_from(), email=email, password="wrong")
    with pytest.raises(TooMany):
        password_sign_in(request=request_from(), email=LONG_S, password="wrong")
    for email in (LONG_S, "\uff2cISA@example.com", "lisa@example.com"):
        with pytest.raises(TooMany):
            password_sign_in(request=request_from(), email=email, password=PASSWORD)


def test_an_invitation_is_for_every_spelling_of_its_address_and_for_no_look_alike() -> None:
    team, lisa = make_team(), make_user(email="Lisa@example.com")
    first = invitation_create(team=team, email="lisa@example.com", role=TeamRole.MEMBER, user=None)
    second = invitation_create(team=team, email="LISA@example.com", role=TeamRole.MEMBER, user=None)
    first.invitation.refresh_from_db()
    assert first.invitation.ended_at is not None
    other = make_user(email="other@example.com")
    User.objects.filter(id=other.id).update(email=DOTLESS, normal_email=normal_email(DOTLESS))
    other.refresh_from_db()
    token = second.url.rpartition("/join/")[2].strip("/")
    with pytest.raises(Conflict):
        invitation_accept(token=token, user=other)
    assert invitation_accept(token=token, user=lisa) == team
    with pytest.raises(Conflict, match="belongs to"):
        invitation_create(team=team, email="lisa@EXAMPLE.com", role=TeamRole.MEMBER, user=None)


def test_the_form_to_sign_in_takes_any_text_for_an_address() -> None:
    for email in (DOTLESS, "no address", "x" * 254):
        answer = Client().post("/sign-in/", {"email": email, "password": "wrong"})
        assert answer.status_code == 401
    nul = Client().post("/sign-in/", {"email": "a\x00@example.com", "password": "wrong"})
    assert nul.status_code == 200


def test_an_operator_gives_somebody_another_address() -> None:
    lisa, statement = make_user(email="lisa@example.com"), StringIO()
    make_user(email="taken@example.com")
    for new in ("TAKEN@example.com", LONG_S):
        with pytest.raises(CommandError):
            call_command("person_email", "lisa@example.com", new)
    call_command("person_email", "LISA@example.com", "Lisa.New@example.com", stdout=statement)
    assert user_by_email("lisa.new@example.com") == lisa
    assert user_by_email("lisa@example.com") is None
    assert AuditEntry.objects.get(action="person.set_email").before == {"email": lisa.email}
