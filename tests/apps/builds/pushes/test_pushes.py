"""A push is asked for over REST, on the page and by a command; who may not, learns nothing."""

from collections.abc import Callable
from io import StringIO
from typing import TYPE_CHECKING, Any

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from apps.accounts.models import AuditEntry
from apps.builds.artifacts.deleting import artifact_delete
from apps.builds.models import Artifact, ArtifactPush
from apps.builds.pushes.carrying import push_fail, push_succeed
from apps.builds.pushes.leasing import MOST_CLAIMS, PUSH
from apps.builds.pushes.requests import push_cancel, push_request, push_retry
from apps.deployments.services.deployments import deployment_create
from apps.leases.redeeming import lease_redeem
from apps.leases.services import lease_claim
from apps.leases.sweeping import leases_sweep
from apps.rest.errors import NotFound
from apps.secrets.services.values import secret_set
from controlplane.domain.failures.registry import pushes
from tests import factories
from tests.apps.pages import polled, signed_in
from tests.apps.rest_client import client_of

if TYPE_CHECKING:
    from tests.factories import Cast

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]
HUB = {"destination": "hf://org/name", "secret_name": "hf-write"}
VALUE = "hf_canary_of_the_rows"


@pytest.fixture
def artifact(cast: "Cast", settings: Settings, tmp_path: Any) -> Artifact:
    settings.KEY_RING_FILE = tmp_path / "keys" / "secrets.keyring"
    settings.ARTIFACT_URL = (tmp_path / "store").as_uri()
    secret_set(team=cast.team, name="hf_write", value=VALUE)
    secret_set(team=cast.team, name="hf_access_token", value=VALUE)
    return factories.make_artifact(team=cast.team)


def push_of(cast: "Cast", artifact: Artifact, **changes: Any) -> dict[str, Any]:
    path = f"/v1/artifacts/{artifact.id}/pushes"
    status, made = client_of(cast.member).post(path, HUB | changes)
    assert status == 201, made
    return dict(made)


def test_a_push_is_made_listed_read_cancelled_and_tried_again(
    cast: "Cast", artifact: Artifact
) -> None:
    factories.make_finished_build(team=cast.team, artifact=artifact, pool="research")
    rest, path = client_of(cast.member), f"/v1/artifacts/{artifact.id}/pushes"
    made = push_of(cast, artifact)
    assert (made["state"], made["secret_name"], made["private"]) == ("queued", "hf_write", True)
    assert made["progress"] == {"done_bytes": 0, "total_bytes": artifact.size_bytes}
    assert ArtifactPush.objects.get().pool == "research"
    assert push_of(cast, artifact)["id"] == made["id"]
    assert [each["id"] for each in rest.get(path)[1]["items"]] == [made["id"]]
    status, cancelled = rest.post(f"{path}/{made['id']}/cancel")
    assert (status, cancelled["state"]) == (200, "cancelled")
    status, again = rest.post(f"{path}/{made['id']}/retry")
    assert (status, again["state"], again["attempt"]) == (200, "queued", 2)
    assert rest.post(f"{path}/{made['id']}/retry")[0] == 409
    assert rest.get(f"{path}/{made['id']}")[1] == again
    order = AuditEntry.objects.filter(action__startswith="artifact.push").order_by("id")
    assert [each.action for each in order] == [
        "artifact.push",
        "artifact.push_cancel",
        "artifact.push_retry",
    ]
    assert order[0].after == {
        "destination": HUB["destination"],
        "secret": "hf_write",
        "private": True,
    }


@pytest.mark.parametrize(
    "destination",
    [
        "org/name",
        "hf://name",
        "hf://org/name@",
        "hf://org/name@../main",
        "hf://org/../name",
        "s3://bucket",
        "s3://bucket/a/../b",
        "gs://bucket/folder",
        "https://example.com/x",
    ],
)
def test_a_place_that_cannot_be_pushed_to_is_refused(
    cast: "Cast", artifact: Artifact, destination: str
) -> None:
    path = f"/v1/artifacts/{artifact.id}/pushes"
    status, refused = client_of(cast.member).post(path, HUB | {"destination": destination})
    assert (status, refused["fields"]) == (400, ["destination"])


@pytest.mark.parametrize(
    ("first", "same"),
    [("hf://org/name", "hf://org/name@main"), ("s3://bucket/folder", "s3://bucket/folder/")],
)
def test_one_artifact_at_a_time_goes_to_a_place_however_it_is_written(
    cast: "Cast", artifact: Artifact, first: str, same: str
) -> None:
    rest, path = client_of(cast.member), f"/v1/artifacts/{artifact.id}/pushes"
    made = push_of(cast, artifact, destination=first)
    assert push_of(cast, artifact, destination=same)["id"] == made["id"]
    other = factories.make_artifact(team=cast.team)
    path_of_other = f"/v1/artifacts/{other.id}/pushes"
    status, refused = rest.post(path_of_other, HUB | {"destination": same})
    assert status == 409
    assert artifact.id in refused["message"]
    assert rest.post(path, HUB | {"destination": same, "private": False})[0] == 409
    rest.post(f"{path}/{made['id']}/cancel")
    push_of(cast, other, destination=same)
    assert rest.post(f"{path}/{made['id']}/retry")[0] == 409
    assert ArtifactPush.objects.get(id=made["id"]).state == "cancelled"


def test_a_secret_must_be_the_teams_and_one_for_that_place(
    cast: "Cast", artifact: Artifact
) -> None:
    secret_set(team=cast.outsider.team, name="theirs", value="x")
    path = f"/v1/artifacts/{artifact.id}/pushes"
    for changes in (
        {"secret_name": "theirs"},
        {"destination": "s3://bucket/folder", "secret_name": "hf_access_token"},
    ):
        status, refused = client_of(cast.member).post(path, HUB | changes)
        assert (status, refused["fields"]) == (400, ["secret_name"])
    assert not ArtifactPush.objects.exists()


def test_another_team_gets_nothing_and_another_artifact_has_it_not(
    cast: "Cast", artifact: Artifact
) -> None:
    made = push_of(cast, artifact)
    path = f"/v1/artifacts/{artifact.id}/pushes"
    outsider = client_of(cast.outsider)
    assert outsider.get(path)[0] == outsider.post(path, HUB)[0] == 404
    assert outsider.get(f"{path}/{made['id']}")[0] == 404
    assert outsider.post(f"{path}/{made['id']}/cancel")[0] == 404
    other = factories.make_artifact(team=cast.team)
    assert client_of(cast.member).get(f"/v1/artifacts/{other.id}/pushes/{made['id']}")[0] == 404


def test_its_secret_goes_to_the_holder_of_the_live_lease_alone(
    cast: "Cast", artifact: Artifact
) -> None:
    made = push_of(cast, artifact)
    lease = lease_claim(kind=PUSH, id=made["id"])
    assert lease is not None
    values = {"name": "push", "id": lease.id, "token": lease.token, "secret": lease.secret}
    assert lease_redeem(**values) == {"hf_write": VALUE}
    ArtifactPush.objects.update(lease_expires_at=None)
    next_lease = lease_claim(kind=PUSH, id=made["id"])
    assert next_lease is not None
    assert lease_redeem(**values) is None
    assert not push_fail(lease=lease, failure=pushes.LOST.failure(times=1))
    assert push_succeed(lease=next_lease, result={"url": "u"}, done_bytes=artifact.size_bytes)
    row = ArtifactPush.objects.values().get()
    assert row["state"] == "succeeded"
    assert VALUE not in str(row)


def test_a_push_that_ends_its_worker_each_time_is_given_up(
    cast: "Cast", artifact: Artifact
) -> None:
    made = push_of(cast, artifact)
    for _ in range(MOST_CLAIMS):
        assert lease_claim(kind=PUSH, id=made["id"]) is not None
        ArtifactPush.objects.update(lease_expires_at=None)
    leases_sweep(PUSH)
    push = ArtifactPush.objects.get()
    assert (push.state, push.failure["code"]) == ("failed", "EHU-LOST")  # type: ignore[index]


def test_a_push_that_was_to_be_cancelled_and_lost_its_worker_is_cancelled(
    cast: "Cast", artifact: Artifact
) -> None:
    made = push_of(cast, artifact)
    assert lease_claim(kind=PUSH, id=made["id"]) is not None
    rest, path = client_of(cast.member), f"/v1/artifacts/{artifact.id}/pushes/{made['id']}"
    request = rest.post(f"{path}/cancel")[1]
    assert request["state"] == "running"
    assert rest.post(f"{path}/cancel") == (200, request)
    assert AuditEntry.objects.filter(action="artifact.push_cancel").count() == 1
    leases_sweep(PUSH)
    assert rest.get(path)[1]["state"] == "running"
    ArtifactPush.objects.update(lease_expires_at=None)
    leases_sweep(PUSH)
    ended = rest.get(path)[1]
    assert (ended["state"], ended["finished_at"] is None) == ("cancelled", False)


def test_what_is_being_pushed_is_not_deleted(cast: "Cast", artifact: Artifact) -> None:
    made = push_of(cast, artifact)
    rest, path = client_of(cast.owner), f"/v1/artifacts/{artifact.id}"
    status, refused = rest.delete(path)
    assert status == 409
    assert HUB["destination"] in refused["message"]
    rest.post(f"{path}/pushes/{made['id']}/cancel")
    assert rest.delete(path)[0] == 200
    assert not ArtifactPush.objects.exists()


def test_whoever_was_second_to_a_deletion_is_told(cast: "Cast", artifact: Artifact) -> None:
    made = push_of(cast, artifact)
    push = ArtifactPush.objects.get(id=made["id"])
    push_cancel(push=push)
    build = factories.make_finished_build(team=cast.team, artifact=artifact)
    model = factories.make_model(team=cast.team)
    seen = Artifact.objects.get(id=artifact.id)
    artifact_delete(artifact=artifact)
    target = {"destination": HUB["destination"], "secret_name": "hf_write"}
    late: list[Callable[[], object]] = [
        lambda: artifact_delete(artifact=seen),
        lambda: push_request(artifact=seen, **target),
        lambda: push_retry(push=push),
        lambda: push_cancel(push=push),
        lambda: deployment_create(model=model, build=build),
    ]
    for ask in late:
        with pytest.raises(NotFound, match=f"Artifact `{seen.id}` was deleted meanwhile"):
            ask()


def test_the_page_pushes_shows_how_far_it_is_and_why_it_failed(
    cast: "Cast", artifact: Artifact
) -> None:
    page, path = signed_in(cast.member), f"/artifacts/{artifact.id}/pushes/"
    assert path in page.get(f"/artifacts/{artifact.id}/").content.decode()
    assert "Not pushed yet" in page.get(path).content.decode()
    answer = page.post(path, {**HUB, "secret_name": "hf_write"})
    assert answer["Location"] == path
    push = ArtifactPush.objects.get()
    assert (push.private, push.created_by) == (False, cast.member)
    assert "data-moving" in polled(page, path).content.decode()
    lease = lease_claim(kind=PUSH, id=push.id)
    assert lease is not None
    page.post(f"{path}{push.id}/cancel/")
    assert "Stopping" in polled(page, path).content.decode()
    failure = pushes.DENIED.failure(
        place="https://hub", secret="hf_write", destination=push.destination, reason="HTTP 403"
    )
    push_fail(lease=lease, failure=failure)
    shown = polled(page, path).content.decode()
    assert "does not let the login" in shown
    assert "data-moving" not in shown
    page.post(f"{path}{push.id}/retry/")
    assert ArtifactPush.objects.get().state == "queued"
    assert signed_in(cast.outsider).get(path).status_code == 404


def test_a_secret_names_the_pushes_that_use_it(cast: "Cast", artifact: Artifact) -> None:
    made = [push_of(cast, artifact, destination=f"hf://org/name-{each}") for each in "ab"]
    theirs = factories.make_push(destination="hf://org/theirs")
    _, report = client_of(cast.member).get("/v1/secrets")
    uses = next(each["used_by"] for each in report["secrets"] if each["name"] == "hf_write")
    assert [each["id"] for each in uses] == [made[1]["id"], made[0]["id"]]
    page = signed_in(cast.member).get("/secrets/").content.decode()
    assert "2 pushes" in page
    assert theirs.destination not in page


def test_a_command_queues_a_push_and_says_what_is_wrong(cast: "Cast", artifact: Artifact) -> None:
    out = StringIO()
    targets = (artifact.id, "hf://org/name", "--secret", "hf_write", "--public")
    call_command("artifact_push", *targets, stdout=out)
    push = ArtifactPush.objects.get()
    assert push.id in out.getvalue()
    assert not push.private
    with pytest.raises(CommandError, match="no place to push to"):
        call_command("artifact_push", artifact.id, "ftp://x", "--secret", "hf_write")
    with pytest.raises(CommandError, match="no artifact `absent`"):
        call_command("artifact_push", "absent", "hf://org/name", "--secret", "hf_write")
