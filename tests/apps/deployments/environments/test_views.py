"""Environments that are made and deleted on the page of their model."""

import pytest

from apps.accounts.environments.services import environment_restrict
from apps.deployments.models import Environment
from tests.apps.pages import signed_in
from tests.factories import make_cast, make_environment, make_model

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
