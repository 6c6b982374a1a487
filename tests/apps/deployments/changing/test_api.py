"""A change of settings of what serves: said before, saved as a revision, rolled."""

from typing import Any

import pytest

from apps.accounts.environments.services import environment_restrict
from apps.accounts.models import User
from apps.builds.models import Build
from apps.builds.services.requests import build_create
from apps.configs.models import Revision
from apps.deployments.models import Deployment, Environment
from controlplane.domain.lifecycle import BuildState
from tests.apps.builds.conftest import revision, tiny_checkpoint
from tests.apps.pages import signed_in
from tests.apps.rest_client import client_of
from tests.factories import Cast, make_artifact, make_deployment, make_model
from tests.folded import folded

__all__ = ["revision", "tiny_checkpoint"]
pytestmark = pytest.mark.django_db


@pytest.fixture
def served(cast: Cast, revision: Revision) -> Deployment:
    """What serves in production, of a build that has succeeded."""
    build = build_create(revision=revision, user=None)
    build.state, build.artifact = BuildState.SUCCEEDED, make_artifact(team=cast.team)
    build.save()
    return make_deployment(model=make_model(team=cast.team), build=build, environment="production")


def ask(served: Deployment, who: User, **body: Any) -> tuple[int, Any]:
    place = f"/v1/models/{served.model_id}/deployments/{served.id}"
    return client_of(who).post(f"{place}/change_settings", body)


def changed(served: Deployment, before: str, after: str) -> str:
    text: str = served.build.revision.text
    assert before in text
    return text.replace(before, after)


def batch(served: Deployment, size: int = 2) -> str:
    return changed(served, "max_batch_size: 4", f"max_batch_size: {size}")


def test_what_would_change_is_said_and_nothing_is_done(served: Deployment, cast: Cast) -> None:
    status, told = ask(served, cast.owner, text=batch(served), dry_run=True)
    assert status == 200, told
    assert (told["needs_build"], told["environment"]) == (False, "production")
    config = told["differences"][0]
    assert [(each["label"], each["right"]) for each in config["rows"]] == [
        ("trt_llm.build.max_batch_size", 2)
    ]
    assert told["deployment"] is None
    assert (Revision.objects.count(), Build.objects.count(), Deployment.objects.count()) == (1,) * 3


def test_serving_settings_roll_out_with_the_artifact_that_serves(
    served: Deployment, cast: Cast
) -> None:
    status, told = ask(served, cast.owner, text=batch(served))
    assert status == 201, told
    made = Deployment.objects.get(id=told["deployment"]["id"])
    assert made.artifact == served.artifact
    assert made.spec["trt_llm"]["build"]["max_batch_size"] == 2
    assert Environment.objects.get(model=made.model, name="production").candidate == made
    assert made.build.state == BuildState.SUCCEEDED
    assert {step.state for step in made.build.steps.all()} == {"reused"}
    assert made.build.revision.number == 2
    assert made.build.revision.config == served.build.revision.config


def test_what_makes_another_artifact_is_built_first(served: Deployment, cast: Cast) -> None:
    text = served.build.revision.text + "enginehouse: {gate: {enabled: false}}\n"
    status, told = ask(served, cast.owner, text=text, environment="")
    assert status == 201, told
    assert told["reasons_to_build"] == ["enginehouse.gate.enabled"]
    made = Deployment.objects.get(id=told["deployment"]["id"])
    assert (made.state, made.build.state) == ("building", "queued")
    assert Environment.objects.get(model=made.model, name="production").candidate is None


def test_what_cannot_be_is_refused_and_nothing_is_saved(served: Deployment, cast: Cast) -> None:
    repo = served.build.revision.spec["trt_llm"]["build"]["checkpoint_repository"]["repo"]
    for text, expected, code in (
        (served.build.revision.text, 409, "nothing_differs"),
        (changed(served, repo, "/nowhere"), 409, "revision_"),
        ("trt_llm: [", 400, "EH"),
    ):
        status, told = ask(served, cast.owner, text=text)
        assert (status, told["code"][: len(code)]) == (expected, code), told
    assert ask(served, cast.outsider, text=batch(served))[0] == 404
    environment_restrict(team=cast.team, name="production")
    assert ask(served, cast.member, text=batch(served))[0] == 403
    assert ask(served, cast.owner, text=batch(served), environment="nowhere")[0] == 404
    Environment.objects.update(candidate=served)
    assert ask(served, cast.owner, text=batch(served))[0] == 409
    assert (Revision.objects.count(), Deployment.objects.count()) == (1, 1)


def test_its_page_says_the_effect_and_rolls(served: Deployment, cast: Cast) -> None:
    browser = signed_in(cast.owner)
    place = f"/models/{served.model_id}/{served.id}/"
    assert f'href="{place}change/"' in browser.get(place).content.decode()
    page = folded(browser.get(f"{place}change/").content.decode())
    assert served.build.revision.config.name in page
    form = {"text": batch(served).replace("\n", "\r\n"), "environment": "production"}
    effect = folded(browser.post(f"{place}change/effect/", form).content.decode())
    assert "No build is needed" in effect
    assert "takes over in <b>production</b> by a roll" in effect
    answer = browser.post(f"{place}change/", form)
    assert answer.status_code == 302, answer.content.decode()[:2000]
    again = browser.post(f"{place}change/", form | {"text": served.build.revision.text})
    assert again.status_code == 400
    assert "These are the settings that" in folded(again.content.decode())
    refused = folded(browser.post(f"{place}change/effect/", {"text": ": ["}).content.decode())
    assert 'role="alert"' in refused
