"""The REST of calibration sets: uploaded by the team, read by the team, refused with the place."""

import hashlib

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from pytest_django import Settings

from apps.accounts.models import AuditEntry
from apps.configs.calibration_sets.models import CalibrationPreview, CalibrationVersion
from apps.configs.calibration_sets.selectors import sets_of_job, stored_contents
from apps.configs.models import Revision
from apps.configs.services.configs import config_create
from controlplane.artifacts import ArtifactStore
from controlplane.domain.spec import Spec
from tests.apps.configs.calibration_sets.uploads import chats, jsonl, posted, stored
from tests.apps.rest_client import client_of
from tests.factories import Cast, config_text, make_api_key, make_cast, make_device

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]
QUANTIZED = """    quantization_type: fp8
    quantization_config:
      calib_dataset: {}
"""


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def revision_on(cast: Cast, dataset: str, name: str = "tiny") -> Revision:
    text = config_text("/checkpoints/tiny") + QUANTIZED.format(dataset)
    return config_create(team=cast.team, name=name, text=text).revisions.get()


def codes(revision: Revision) -> set[str]:
    revision.refresh_from_db()
    return {each["code"] for each in revision.findings}


@pytest.mark.usefixtures("reader_process")
def test_owner_and_member_upload_list_look_and_delete(cast: Cast, artifact_url: str) -> None:
    for user in (cast.owner, cast.member):
        status, made = posted(user, "team/support-chats", jsonl(20), "chats of 2026.jsonl")
        assert status == 201
        assert (made["name"], made["dataset"]) == ("support-chats", "team/support-chats")
        (version,) = made["versions"]
        assert version["digest"] == f"sha256:{hashlib.sha256(jsonl(20)).hexdigest()}"
        assert (version["rows"], version["column"], version["version"]) == (20, "text", 1)
        assert (version["uploaded_name"], version["created_by"]) == (
            "chats of 2026.jsonl",
            user.email,
        )
        client = client_of(cast.owner)
        status, listed = client.get("/v1/calibration_sets")
        assert (status, [each["id"] for each in listed["items"]]) == (200, [made["id"]])
        assert client.get(f"/v1/calibration_sets/{made['id']}") == (200, made)
        status, rows = client.get(f"/v1/calibration_sets/{made['id']}/rows")
        assert rows["rows"][0].startswith("The capital of France")
        status, gone = client_of(user).delete(f"/v1/calibration_sets/{made['id']}")
        assert (status, gone) == (200, {"id": made["id"], "name": "support-chats", "deleted": True})
        assert client.get("/v1/calibration_sets")[1]["items"] == []
        order = AuditEntry.objects.filter(target_id=made["id"]).order_by("id")
        assert [entry.action for entry in order] == [
            "calibration_set.upload",
            "calibration_set.delete",
        ]


def test_an_outsider_learns_and_changes_nothing(cast: Cast) -> None:
    kept = stored(cast.team)
    outsider = client_of(cast.outsider)
    assert outsider.get("/v1/calibration_sets")[1]["items"] == []
    path = f"/v1/calibration_sets/{kept.set_id}"
    for answer in (outsider.get(path), outsider.get(f"{path}/rows"), outsider.delete(path)):
        assert answer[0] == 404
    status, own = posted(cast.outsider, "support-chats", jsonl(9))
    assert (status, own["versions"][0]["version"]) == (201, 1)
    assert CalibrationVersion.objects.filter(set__team=cast.team).count() == 1
    config = revision_on(cast, "team/support-chats").config
    body = {"config_id": config.id}
    assert outsider.post("/v1/calibration_previews", body)[0] == 404
    status, preview = client_of(cast.owner).post("/v1/calibration_previews", body)
    assert (status, preview["state"]) == (202, "waiting")
    assert outsider.get(f"/v1/calibration_previews/{preview['id']}")[0] == 404
    assert posted(None, "mine", jsonl())[0] == 401


def test_the_same_content_is_no_new_version_and_another_one_leaves_the_old_readable(
    cast: Cast, artifact_url: str
) -> None:
    assert posted(cast.owner, "news", jsonl(10))[0] == 201
    assert posted(cast.owner, "news", jsonl(10))[0] == 200
    status, made = posted(cast.owner, "news", chats(10))
    assert status == 201
    assert [each["version"] for each in made["versions"]] == [2, 1]
    spec = revision_on(cast, "team/news").spec
    old = made["versions"][1]["digest"]
    latest = sets_of_job(team=cast.team, spec=Spec.model_validate(spec))["team/news"]
    began_with = sets_of_job(
        team=cast.team, spec=Spec.model_validate(spec), pinned={"team/news": old}
    )["team/news"]
    assert (latest["version"], latest["column"]) == (2, "messages")
    assert (began_with["version"], began_with["column"]) == (1, "text")


def test_a_sweep_spares_what_sets_reference_and_takes_the_rest(
    cast: Cast, artifact_url: str
) -> None:
    store = ArtifactStore.open(artifact_url)
    first = stored(cast.team)
    second = stored(cast.team, content=jsonl(30))
    assert store.sweep(stored_contents(), 0.0).artifacts == 0
    assert store.verify(first.content_digest).files[0].sha256 == first.digest.split(":")[1]
    assert client_of(cast.owner).delete(f"/v1/calibration_sets/{first.set_id}")[0] == 200
    assert store.sweep(stored_contents(), 3600.0).artifacts == 0
    assert store.sweep(stored_contents(), 0.0).artifacts == 2
    assert not store.exists(second.content_digest)


@pytest.mark.parametrize(
    ("name", "content", "file_name", "code", "words"),
    [
        ("two words", jsonl(), "a.jsonl", "calibration_name", "cannot be the name"),
        ("a/b", jsonl(), "a.jsonl", "calibration_name", "cannot be the name"),
        ("a.jsonl", jsonl(), "a.jsonl", "calibration_name", "cannot be the name"),
        ("good", jsonl() + b"\xff", "a.jsonl", "calibration_encoding", "Line 13 is not UTF-8"),
        ("good", b"PAR1", "a.parquet", "calibration_parquet", "no Parquet file"),
        ("good", b"", "a.jsonl", "calibration_empty", "no rows"),
        ("good", jsonl(), "a.csv", "calibration_format", "none of"),
    ],
)
def test_a_refused_upload_says_why_and_changes_nothing(
    cast: Cast, name: str, content: bytes, file_name: str, code: str, words: str
) -> None:
    kept = stored(cast.team, "good")
    status, body = posted(cast.owner, name, content, file_name)
    assert (status, body["code"]) == (400, code)
    assert words in body["message"]
    assert body["hint"]
    assert list(CalibrationVersion.objects.all()) == [kept]


def test_a_file_past_the_limit_is_refused(cast: Cast, settings: Settings) -> None:
    settings.CALIBRATION_MAX_BYTES = 500
    status, body = posted(cast.owner, "large", jsonl(20))
    assert (status, body["code"], body["fields"]) == (413, "too_large", ["file"])


def test_a_config_that_names_no_set_of_the_team_is_blocked_until_it_is_uploaded(
    cast: Cast,
) -> None:
    make_device()
    stored(cast.team, "support-chats")
    wrong = revision_on(cast, "team/suport-chats")
    (finding,) = [each for each in wrong.findings if each["code"] == "EH236"]
    assert "Did you mean `team/support-chats`?" in finding["message"]
    dataset = "trt_llm.build.quantization_config.calib_dataset"
    assert finding["fix"]["patch"] == {dataset: "team/support-chats"}
    bare = revision_on(cast, "support-chats", name="bare")
    assert "EH236" in codes(bare)
    pinned = revision_on(cast, "team/support-chats@2", name="pinned")
    assert "EH236" in codes(pinned)
    stored(cast.team, "support-chats", jsonl(40))
    assert "EH236" not in codes(pinned)
    stored(cast.team, "suport-chats")
    assert "EH236" not in codes(wrong)
    kept = CalibrationVersion.objects.get(set__name="suport-chats").set_id
    client_of(cast.owner).delete(f"/v1/calibration_sets/{kept}")
    assert "EH236" in codes(wrong)


def test_a_preview_is_asked_for_once_while_it_waits_and_only_of_sets_that_are_there(
    cast: Cast,
) -> None:
    stored(cast.team)
    config = revision_on(cast, "enginehouse/general").config
    client = client_of(cast.member)
    request = {"config_id": config.id, "dataset": "team/support-chats"}
    first = client.post("/v1/calibration_previews", request)[1]
    assert client.post("/v1/calibration_previews", request)[1]["id"] == first["id"]
    own = client.post("/v1/calibration_previews", {"config_id": config.id, "revision": 1})[1]
    assert own["dataset"] == "enginehouse/general"
    assert CalibrationPreview.objects.count() == 2
    assert AuditEntry.objects.filter(action="calibration.preview").count() == 2
    status, body = client.post(
        "/v1/calibration_previews", {"config_id": config.id, "dataset": "team/suport-chats"}
    )
    assert (status, body["code"]) == (400, "calibration_set_unknown")
    assert body["hint"] == "Did you mean `team/support-chats`?"
    assert client.get(f"/v1/calibration_previews/{first['id']}")[1] == first


def test_what_is_no_form_or_too_much_of_one_is_said_so(cast: Cast) -> None:
    status, body = client_of(cast.owner).post("/v1/calibration_sets", {"name": "a"})
    assert (status, body["code"]) == (415, "unsupported_media_type")
    assert "-F file=@FILE" in body["hint"]
    headers = {"authorization": f"Bearer {make_api_key(user=cast.owner, type='PERSONAL')}"}
    files = {f"file{number}": SimpleUploadedFile("a", b"a") for number in range(150)}
    answer = Client().post("/v1/calibration_sets", files, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (400, "malformed_body")
    answer = Client().post("/v1/calibration_sets", {"name": "a"}, headers=headers)
    assert (answer.status_code, answer.json()["fields"]) == (400, ["file"])
