"""The list of models: each once, with what matters most of its deployments nested."""

import pytest

from apps.deployments.models import Deployment
from apps.deployments.served_models.rows import SHOWN_OF_EACH, model_rows, model_search
from tests.apps.pages import signed_in
from tests.factories import make_cast, make_deployment, make_environment, make_model, make_team

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]


def test_what_is_asked_for_and_what_serves_is_shown_before_the_newest() -> None:
    model = make_model()
    serving = make_deployment(model=model, name="old", environment="production")
    asleep = make_deployment(model=model, name="asleep", state="inactive")
    for number in range(SHOWN_OF_EACH + 2):
        make_deployment(model=model, name=f"new-{number}")
    models = list(model_search(team=model.team))
    (row,) = model_rows(model.team, models)
    assert len(row.rows) == SHOWN_OF_EACH
    assert row.rows[0].deployment == serving
    assert asleep not in {each.deployment for each in row.rows}
    assert row.others == Deployment.objects.count() - SHOWN_OF_EACH
    (row,) = model_rows(model.team, models, state="inactive")
    assert asleep in {each.deployment for each in row.rows}


def test_models_are_found_by_their_deployments_and_sorted_as_the_address_says() -> None:
    team = make_team()
    for name in ("beta", "alpha"):
        make_deployment(model=make_model(team=team, name=name), name=f"of-{name}", state="failed")
    make_model(team=team, name="never")

    def names(**asked: str) -> list[str]:
        return [each.name for each in model_search(team=team, **asked)]

    assert names() == ["alpha", "beta", "never"], "deployed last first"
    assert names(sort="name") == ["alpha", "beta", "never"]
    assert names(sort="-name") == ["never", "beta", "alpha"]
    assert names(sort="created") == ["beta", "alpha", "never"]
    assert names(words="OF-B", state="failed") == ["beta"]
    assert names(state="degraded") == []


def test_the_page_nests_deployments_and_its_heads_lead_to_the_other_order() -> None:
    cast = make_cast()
    model = make_model(team=cast.team, name="answers")
    make_deployment(model=model, name="first", environment="production")
    make_environment(model=model, name="staging")
    client = signed_in(cast.member)
    page = client.get("/models/", {"sort": "name", "q": "ans"}).content.decode()
    assert page.count(">answers</a>") == 1
    assert "1\n                deployment, nothing in" in page
    assert 'aria-sort="ascending"' in page
    assert 'href="?q=ans&amp;sort=-name"' in page
    assert "aria-sort" not in client.get("/models/", {"sort": "nonsense"}).content.decode()
