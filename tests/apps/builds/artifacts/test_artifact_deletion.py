"""An artifact goes when its identifier is typed, and not while anything has or takes it."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pytest_django import Settings

from apps.builds.models import Artifact, Build
from apps.builds.selectors import stored_contents
from tests import factories
from tests.apps.builds.stage import make_passported
from tests.apps.pages import signed_in
from tests.apps.rest_client import client_of

if TYPE_CHECKING:
    from tests.factories import Cast

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]


@pytest.fixture
def artifact(cast: "Cast", tmp_path: Path, settings: Settings) -> Artifact:
    settings.ARTIFACT_URL = (tmp_path / "store").as_uri()
    return make_passported(team=cast.team)


def test_the_typed_identifier_deletes_it_and_its_build_says_so(
    cast: "Cast", artifact: Artifact
) -> None:
    build = factories.make_finished_build(team=cast.team, artifact=artifact)
    owner = signed_in(cast.owner)
    owner.post(f"/artifacts/{artifact.id}/delete/", {"name": "something else"})
    assert Artifact.objects.filter(id=artifact.id).exists()
    assert signed_in(cast.outsider).post(f"/artifacts/{artifact.id}/delete/").status_code == 404
    answer = owner.post(f"/artifacts/{artifact.id}/delete/", {"name": artifact.id})
    assert answer["Location"] == "/artifacts/"
    assert not Artifact.objects.filter(id=artifact.id).exists()
    assert "Its artifact was deleted" in owner.get(f"/builds/{build.number}/").content.decode()
    status, refused = client_of(cast.owner).post(
        "/v1/models",
        {"name": "m", "source": {"kind": "build", "build_id": build.id}},
    )
    assert (status, refused["message"]) == (
        400,
        f"The artifact of build {build.number} was deleted.",
    )


def test_what_is_deployed_or_being_taken_is_refused_with_the_way_out(
    cast: "Cast", artifact: Artifact
) -> None:
    build = factories.make_finished_build(team=cast.team, artifact=artifact)
    deployment = factories.make_deployment(team=cast.team, build=build, name="first")
    api, path = client_of(cast.owner), f"/v1/artifacts/{artifact.id}"
    status, body = api.delete(path)
    assert (status, body["hint"]) == (409, "Delete the deployment first.")
    assert (
        "data-opens" not in signed_in(cast.owner).get(f"/artifacts/{artifact.id}/").content.decode()
    )
    deployment.delete()
    values = {"state": "same", "artifact_id": artifact.id, "differences": []}
    taking = factories.make_build(revision=build.revision, reuse=values)
    assert api.delete(path)[0] == 409
    Build.objects.filter(id=taking.id).update(state="cancelled")
    assert api.delete(path) == (200, {"id": artifact.id, "deleted": True})
    assert client_of(cast.outsider).delete(path)[0] == 404


def test_the_store_keeps_what_artifacts_and_builds_under_way_name(
    cast: "Cast", artifact: Artifact
) -> None:
    running = factories.make_build(revision=factories.make_revision(team=cast.team))
    packaged = "sha256:" + "5" * 64
    running.steps.filter(name="package").update(result={"content_digest": packaged})
    assert stored_contents() == {artifact.content_digest, packaged}
    Build.objects.filter(id=running.id).update(state="failed")
    assert stored_contents() == {artifact.content_digest}
