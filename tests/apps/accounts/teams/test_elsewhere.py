"""A link into another of my teams offers to switch, and leads there then; nobody else learns it."""

import pytest

from tests.apps.pages import signed_in
from tests.factories import (
    Membership,
    make_cast,
    make_config,
    make_deployment,
    make_model,
    make_team,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]


def test_the_page_names_the_team_and_its_button_leads_where_the_link_did() -> None:
    cast = make_cast()
    other = make_team(name="research")
    Membership.objects.create(user=cast.member, team=other)
    deployment = make_deployment(model=make_model(team=other))
    client, path = signed_in(cast.member), f"/models/{deployment.model_id}/{deployment.id}/"
    answer = client.get(path)
    assert answer.status_code == 404
    assert "Switch to research" in answer.content.decode()
    assert f'name="next" value="{path}"' in answer.content.decode()
    config = make_config(team=other)
    assert "Switch to research" in client.get(f"/configs/{config.id}/").content.decode()
    enter = f"/teams/{other.id}/enter/"
    assert client.post(enter, {"next": path})["Location"] == path
    assert client.get(path).status_code == 200
    assert client.post(enter, {"next": "https://elsewhere.example/"})["Location"] == "/"


def test_who_is_not_in_that_team_is_told_nothing_of_it() -> None:
    cast = make_cast()
    deployment = make_deployment(model=make_model(team=make_team(name="research")))
    path = f"/models/{deployment.model_id}/{deployment.id}/"
    page = signed_in(cast.member).get(path).content.decode()
    assert "There is nothing here" in page
    assert "research" not in page
