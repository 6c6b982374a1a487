"""A restricted environment: seen and called by all of the team, changed by some."""

import pytest

from apps.accounts.environments.services import environment_restrict
from apps.deployments.models import Deployment
from tests.apps.pages import signed_in
from tests.apps.rest_client import client_of
from tests.factories import Cast, make_cast, make_deployment, make_finished_build, make_user
from tests.folded import folded

PROMOTION_SIGNALS = ("cancel", "pause", "resume", "force_cancel", "force_roll_forward")
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]


@pytest.fixture
def cast() -> Cast:
    made = make_cast()
    environment_restrict(team=made.team, name="production")
    return made


@pytest.fixture
def deployment(cast: Cast) -> Deployment:
    return make_deployment(team=cast.team, environment="production")


def test_every_change_of_it_is_refused_over_rest(cast: Cast, deployment: Deployment) -> None:
    member = client_of(cast.member)
    model = f"/v1/models/{deployment.model_id}"
    at = f"{model}/deployments/{deployment.id}"
    place = f"{model}/environments/production"
    candidate = make_deployment(model=deployment.model)
    for path, body in (
        (f"{at}/deactivate", None),
        (f"{at}/activate", None),
        (f"{at}/retry", None),
        (f"{model}/deployments/{candidate.id}/promote", None),
        (f"{place}/promote", {"deployment_id": candidate.id}),
        (f"{place}/roll_back", None),
        *((f"{place}/{each}_promotion", None) for each in PROMOTION_SIGNALS),
        (f"{place}/deactivate", None),
    ):
        status, answer = member.post(path, body)
        assert (status, answer["code"]) == (403, "environment_restricted"), path
    for path in (f"{at}/autoscaling_settings", place):
        assert member.patch(path, {})[0] == 403, path
    for path in (at, model, place):
        assert member.delete(path)[0] == 403, path
    assert member.get(at)[0] == member.get(place)[0] == 200


def test_a_new_model_would_be_production(cast: Cast) -> None:
    build = make_finished_build(team=cast.team)
    body = {"name": "new", "source": {"kind": "build", "build_id": build.id}}
    assert client_of(cast.member).post("/v1/models", body)[0] == 403


def test_admins_and_those_named_go_on(cast: Cast, deployment: Deployment) -> None:
    named = make_user(team=cast.team)
    cast.team.restricted_environments.get().people.add(named)
    path = f"/v1/models/{deployment.model_id}/deployments/{deployment.id}/autoscaling_settings"
    for user in (cast.owner, named, cast.organisation_admin):
        expected = 404 if user == cast.organisation_admin else 200
        assert client_of(user).patch(path, {"max_replica": 1})[0] == expected, user.email


def test_its_page_greys_the_buttons_and_says_why(cast: Cast, deployment: Deployment) -> None:
    path = f"/models/{deployment.model_id}/{deployment.id}/"
    shown = folded(signed_in(cast.member).get(path).content.decode())
    assert "is restricted: you may view and call it" in shown
    assert 'data-opens="deactivate" disabled' in shown
    assert "is restricted" not in folded(signed_in(cast.owner).get(path).content.decode())
    assert signed_in(cast.member).post(f"{path}deactivate/").status_code == 403
