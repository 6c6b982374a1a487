"""Builds and artifacts over REST: started, followed, stopped, and nobody else's."""

from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from apps.accounts.models import AuditEntry
from apps.builds.models import Build
from apps.configs.models import Revision
from apps.telemetry.logs import log_append
from tests import factories
from tests.apps.rest_client import RestClient, client_of
from tests.factories import Cast

pytestmark = pytest.mark.django_db


@pytest.fixture
def owner(cast: Cast) -> RestClient:
    return client_of(cast.owner)


def start(client: RestClient, revision: Revision, **body: Any) -> Any:
    status, answer = client.post("/v1/builds", {"config_id": revision.config_id} | body)
    assert status == 201, answer
    return answer


def test_a_build_is_started_of_the_last_revision(owner: RestClient, revision: Revision) -> None:
    build = start(owner, revision)
    assert AuditEntry.objects.get(action="build.create").target_id == build["id"]
    assert build["state"] == "queued"
    assert build["config"] == {
        "id": revision.config_id,
        "name": revision.config.name,
        "revision": 1,
    }
    assert build["created_by"] == "owner@example.com"
    assert [step["name"] for step in build["steps"]] == [
        "fetch",
        "inspect",
        "package",
        "smoke_test",
    ]
    assert owner.get(f"/v1/builds/{build['id']}") == (200, build)
    assert owner.get(f"/v1/builds/{build['id']}/steps") == (200, {"steps": build["steps"]})


def test_a_revision_that_does_not_exist_is_named(owner: RestClient, revision: Revision) -> None:
    status, answer = owner.post("/v1/builds", {"config_id": revision.config_id, "revision": 9})
    assert status == 404
    assert "no revision 9" in answer["message"]


def test_a_build_is_cancelled_and_tried_again(owner: RestClient, revision: Revision) -> None:
    build = start(owner, revision)
    status, cancelled = owner.post(f"/v1/builds/{build['id']}/cancel")
    assert (status, cancelled["state"]) == (200, "cancelled")
    status, retried = owner.post(f"/v1/builds/{build['id']}/retry")
    assert (status, retried["state"], retried["attempt"]) == (200, "queued", 2)
    status, answer = owner.post(f"/v1/builds/{build['id']}/retry")
    assert (status, answer["code"]) == (409, "conflict")


def test_builds_are_listed_by_state_and_config_in_pages(
    owner: RestClient, revision: Revision, cast: Cast
) -> None:
    builds = [factories.make_build(revision=revision) for _ in range(3)]
    factories.make_build(revision=factories.make_revision(team=cast.team), state="failed")
    status, first = owner.get("/v1/builds", config_id=revision.config_id, limit=2)
    assert status == 200
    assert [each["id"] for each in first["items"]] == [builds[2].id, builds[1].id]
    cursor = first["pagination"]["cursor"]
    second = owner.get("/v1/builds", config_id=revision.config_id, limit=2, cursor=cursor)[1]
    assert [each["id"] for each in second["items"]] == [builds[0].id]
    assert not second["pagination"]["has_more"]
    failed = owner.get("/v1/builds", state="failed")[1]["items"]
    assert [each["state"] for each in failed] == ["failed"]
    assert owner.get("/v1/builds", state="broken")[0] == 400


def test_a_page_of_builds_costs_as_many_queries_as_one_build(
    owner: RestClient, revision: Revision, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(20):
        factories.make_build(revision=revision)
    with django_assert_max_num_queries(5):
        assert len(owner.get("/v1/builds")[1]["items"]) == 20


def test_a_log_is_read_by_step_direction_and_pattern(owner: RestClient, revision: Revision) -> None:
    build = factories.make_build(revision=revision)
    for step, text in (("fetch", "one\nERROR two\n"), ("inspect", "three\n")):
        log_append(owner=f"build:{build.id}:{step}", attempt=1, sequence=0, text=text)
    path = f"/v1/builds/{build.id}/logs"

    def messages(**query: Any) -> list[str]:
        status, answer = owner.get(path, **query)
        assert status == 200, answer
        return [line["message"] for line in answer["logs"]]

    first = owner.get(path)[1]["logs"][0]
    assert first.keys() == {"timestamp", "message", "level", "step"}
    assert (first["step"], len(first["timestamp"])) == ("fetch", 19)
    assert messages() == ["one", "ERROR two", "three"]
    assert messages(direction="desc", limit=1) == ["three"]
    assert messages(step="inspect") == ["three"]
    assert messages(search_pattern="^t.*e$") == ["three"]
    assert messages(min_level="WARNING") == ["ERROR two"]
    assert messages(attempt=2) == []
    assert messages(end_epoch_millis=int(first["timestamp"]) // 10**6 - 1000) == []
    status, answer = owner.get(path, search_pattern="(")
    assert (status, answer["fields"]) == (400, ["search_pattern"])
    assert owner.get(path, step="bake")[0] == 400


def test_an_artifact_shows_its_files_and_passport(owner: RestClient, cast: Cast) -> None:
    artifact = factories.make_artifact(team=cast.team)
    status, answer = owner.get(f"/v1/artifacts/{artifact.id}")
    assert status == 200
    assert answer["files"][0]["path"] == "config.json"
    assert answer["passport"] == {"format": 1}
    items = owner.get("/v1/artifacts")[1]["items"]
    assert [each["content_digest"] for each in items] == [artifact.content_digest]


def test_to_an_outsider_nothing_of_it_exists(revision: Revision, cast: Cast) -> None:
    build: Build = factories.make_finished_build(revision=revision)
    outsider = client_of(cast.outsider)
    assert outsider.get("/v1/builds")[1]["items"] == []
    assert outsider.get("/v1/artifacts")[1]["items"] == []
    for path in ("", "/steps", "/logs"):
        assert outsider.get(f"/v1/builds/{build.id}{path}")[0] == 404
    for path in ("/cancel", "/retry", "/promote"):
        assert outsider.post(f"/v1/builds/{build.id}{path}")[0] == 404
    assert outsider.get(f"/v1/artifacts/{build.artifact_id}")[0] == 404
    assert outsider.post("/v1/builds", {"config_id": revision.config_id})[0] == 404
    assert RestClient(None).get("/v1/builds")[0] == 401
