"""The page of a model: where it serves, what it was deployed as, and how it is called."""

import pytest

from apps.accounts.environments.services import environment_restrict
from apps.deployments.models import Deployment, ServedModel
from tests.apps.pages import committed_queries, polled, queries_of, signed_in
from tests.factories import (
    make_cast,
    make_deployment,
    make_environment,
    make_model,
    make_replica,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]


def test_it_shows_environments_deployments_and_code_to_the_team_alone() -> None:
    cast = make_cast()
    model = make_model(team=cast.team, name="answers")
    served = make_deployment(model=model, environment="production")
    beside = make_deployment(model=model)
    make_environment(model=model, name="staging", candidate=beside)
    other = make_deployment(team=cast.team)
    path = f"/models/{model.id}/"
    page = signed_in(cast.member).get(path).content.decode()
    assert served.name in page
    assert f"{beside.name}</a>" in page.partition("Rolling out")[2].partition("</table>")[0]
    assert f"/m/{model.id}/environments/production/sync/v1/chat/completions" in page
    assert other.name not in page
    assert 'href="/builds/?state=succeeded"' in page
    assert signed_in(cast.outsider).get(path).status_code == 404


def test_a_model_that_serves_nowhere_has_no_code_and_a_poll_that_finds_nothing_new_is_a_304() -> (
    None
):
    cast = make_cast()
    model = make_model(team=cast.team)
    client, path = signed_in(cast.owner), f"/models/{model.id}/"
    page = client.get(path).content.decode()
    assert "No environment points at a deployment" in page
    assert "Call the endpoint" not in page
    part = polled(client, path)
    assert polled(client, path, **{"HX-PTag": part.headers["HX-PTag"]}).status_code == 304


def test_it_is_deleted_with_its_deployments_once_none_of_them_runs() -> None:
    cast = make_cast()
    deployment = make_deployment(team=cast.team, name="first", environment="production")
    replica = make_replica(deployment=deployment)
    browser, at = signed_in(cast.owner), f"/models/{deployment.model_id}/"
    path, typed = f"{at}delete/", {"name": deployment.model.name}
    words = "Its environments (production) and deployments (1) go with it"
    assert words in browser.get(at).content.decode()
    assert signed_in(cast.outsider).post(path, typed).status_code == 404
    text = browser.post(path, typed, headers={"referer": at}, follow=True).content.decode()
    assert "still runs: <code>first</code>. Deactivate these deployments first." in text
    replica.delete()
    environment_restrict(team=cast.team, name="production")
    assert signed_in(cast.member).post(path, typed).status_code == 403
    assert Deployment.objects.exists()
    text = browser.post(path, typed, follow=True).content.decode()
    assert "is deleted; builds, artifacts and usage stay." in text
    assert not ServedModel.objects.exists()


def test_it_takes_the_committed_number_of_queries() -> None:
    cast = make_cast()
    model = make_model(team=cast.team)
    for name in ("production", "staging", "testing"):
        make_deployment(model=model, environment=name)
    assert queries_of(signed_in(cast.owner), f"/models/{model.id}/") == committed_queries("model")
