"""What deploying a build changes is said before, and by default nothing that is called does."""

import pytest

from apps.builds.models import Build
from apps.deployments.models import Deployment
from tests.apps.pages import signed_in
from tests.factories import (
    Cast,
    make_cast,
    make_config,
    make_deployment,
    make_finished_build,
    make_model,
    make_revision,
    spec_json,
)
from tests.folded import folded

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def served(cast: Cast) -> Deployment:
    """A model `chat` that serves something in production."""
    model = make_model(team=cast.team, name="chat")
    build = make_finished_build(team=cast.team)
    return make_deployment(model=model, build=build, environment="production")


def longer(cast: Cast) -> Build:
    """A build for the same model that takes longer texts."""
    spec = spec_json()
    spec["model_name"] = "chat"
    spec["trt_llm"]["build"]["max_seq_len"] = 4096
    revision = make_revision(config=make_config(team=cast.team), spec=spec)
    return make_finished_build(team=cast.team, revision=revision)


def effect(cast: Cast, number: int, **form: str) -> str:
    page = signed_in(cast.owner).get(f"/models/deploy/{number}/effect/", form)
    return folded(page.content.decode())


def test_a_new_model_gets_its_production(cast: Cast) -> None:
    number = make_finished_build(team=cast.team).number
    assert "is a new model" in effect(cast, number, model_name="fresh", environment="")


def test_why_an_environment_name_is_refused_stands_beside_its_field(cast: Cast) -> None:
    served(cast)
    form = {"model_name": "chat", "environment": "My Place"}
    answer = signed_in(cast.owner).post(f"/models/deploy/{longer(cast).number}/", form)
    assert answer.status_code == 400
    page = folded(answer.content.decode())
    field = page.partition('name="environment"')[2].partition("</div>")[0]
    assert "<code>My Place</code> is not an environment name." in field
    assert 'aria-invalid="true"' in field


def test_where_something_serves_a_build_goes_beside_it_unless_somebody_says_otherwise(
    cast: Cast,
) -> None:
    served(cast)
    build = longer(cast)
    page = folded(signed_in(cast.owner).get(f"/models/deploy/{build.number}/").content.decode())
    assert "Nothing that is called changes." in page
    assert 'value="production"' not in page


def test_what_is_replaced_is_named_with_what_differs(cast: Cast) -> None:
    old = served(cast)
    build = longer(cast)
    statement = effect(cast, build.number, model_name="chat", environment="production")
    assert f">{old.name}</a> in <b>production</b>" in statement
    assert "4096" in statement or "4\u202f096" in statement
    assert "points at nothing yet" in effect(
        cast, build.number, model_name="chat", environment="staging"
    )


def test_of_another_team_nothing_is_said(cast: Cast) -> None:
    number = make_finished_build(team=cast.team).number
    page = signed_in(cast.outsider).get(f"/models/deploy/{number}/effect/", {"model_name": "x"})
    assert page.status_code == 404
