"""The page of secrets: names only, and the way in."""

import pytest

from apps.secrets.models import Secret
from apps.secrets.services.values import secret_reveal, secret_set
from tests.apps.pages import signed_in
from tests.factories import make_cast

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]
VALUE = "hf_do_not_show_this"


def test_a_value_goes_in_and_never_comes_out() -> None:
    cast = make_cast()
    client = signed_in(cast.owner)
    answer = client.post("/secrets/", {"name": "hf_access_token", "value": VALUE}, follow=True)
    page = answer.content.decode()
    assert "hf_access_token" in page
    assert VALUE not in page
    assert secret_reveal(team=cast.team, name="hf_access_token") == VALUE


def test_an_address_fills_in_the_name_of_the_secret_that_is_missing() -> None:
    page = signed_in(make_cast().owner).get("/secrets/?name=hub%22token").content.decode()
    assert 'name="name" value="hub&quot;token"' in page


def test_a_name_that_cannot_be_one_is_refused_beside_its_field() -> None:
    client = signed_in(make_cast().owner)
    answer = client.post("/secrets/", {"name": "two words", "value": VALUE})
    assert answer.status_code == 400
    assert "cannot be the name of a secret" in answer.content.decode()
    assert VALUE not in answer.content.decode()


def test_a_secret_is_deleted_by_its_name_only() -> None:
    cast = make_cast()
    secret = secret_set(team=cast.team, name="token", value=VALUE)
    client = signed_in(cast.owner)
    client.post(f"/secrets/{secret.id}/delete/", {"name": "other"})
    assert Secret.objects.count() == 1
    client.post(f"/secrets/{secret.id}/delete/", {"name": "token"})
    assert Secret.objects.count() == 0


def test_an_outsider_neither_sees_nor_deletes_a_secret() -> None:
    cast = make_cast()
    secret = secret_set(team=cast.team, name="token_of_inside", value=VALUE)
    client = signed_in(cast.outsider)
    assert "token_of_inside" not in client.get("/secrets/").content.decode()
    client.post(f"/secrets/{secret.id}/delete/", {"name": "token_of_inside"})
    assert Secret.objects.count() == 1
