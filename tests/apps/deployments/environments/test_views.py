"""Environments that are made and deleted on the page of their model."""

import re

import pytest

from apps.accounts.environments.services import environment_restrict
from apps.deployments.models import Environment
from tests.apps.pages import signed_in
from tests.factories import make_cast, make_deployment, make_environment, make_model

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]


def test_one_is_made_where_its_name_is_free_and_open() -> None:
    cast = make_cast()
    place = make_environment(model=make_model(team=cast.team), name="staging")
    other = make_model(team=cast.team)
    for name in ("testing", "guarded"):
        make_environment(model=other, name=name)
    environment_restrict(team=cast.team, name="guarded")
    path = f"/models/{place.model_id}/environments/create/"
    member = signed_in(cast.member)
    for name, words in (
        (" testing ", "Environment <code>testing</code> is made"),
        ("staging", "already has an environment <code>staging</code>"),
        ("Not a name", "<code>Not a name</code> is not an environment name."),
        ("", "is not an environment name."),
    ):
        assert words in member.post(path, {"name": name}, follow=True).content.decode(), name
    assert member.post(path, {"name": "guarded"}).status_code == 403
    assert signed_in(cast.outsider).post(path, {"name": "theirs"}).status_code == 404
    names = Environment.objects.filter(model=place.model).values_list("name", flat=True)
    assert {*names} == {"staging", "testing"}


def test_one_is_deleted_with_its_promotion_and_what_served_there_stays() -> None:
    cast = make_cast()
    served = make_deployment(team=cast.team, environment="production")
    beside = make_deployment(model=served.model)
    make_environment(model=served.model, name="staging", current=served, candidate=beside)
    browser, at = signed_in(cast.owner), f"/models/{served.model_id}/"
    shown = browser.get(at).content.decode()
    assert f"{served.name} stays as it is, under its own address." in shown
    assert f"The promotion to {beside.name} ends." in shown
    assert shown.count("Delete this environment") == 1  # production always exists
    opened = re.findall(r'data-opens="(.+?)"', shown)
    assert [each for each in opened if f'<dialog id="{each}"' not in shown] == []
    for name, words in (
        ("production", "always exists and cannot be deleted"),
        ("staging", "is deleted; its deployments stay."),
    ):
        path = f"{at}environments/{name}/delete/"
        assert signed_in(cast.outsider).post(path, {"name": name}).status_code == 404
        assert words in browser.post(path, {"name": name}, follow=True).content.decode()
    assert [each.name for each in served.model.environments.all()] == ["production"]
    assert served.model.deployments.count() == 2


def test_a_restricted_one_is_deleted_by_those_it_names_alone() -> None:
    cast = make_cast()
    place = make_environment(model=make_model(team=cast.team), name="staging")
    environment_restrict(team=cast.team, name="staging")
    path, typed = f"/models/{place.model_id}/environments/staging/delete/", {"name": "staging"}
    assert signed_in(cast.member).post(path, typed).status_code == 403
    assert Environment.objects.filter(id=place.id).exists()
    assert signed_in(cast.owner).post(path, typed).status_code == 302
    assert not Environment.objects.filter(id=place.id).exists()
