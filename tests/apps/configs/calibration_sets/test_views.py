"""The pages of calibration data: uploaded, looked at, previewed and deleted by the team alone."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from apps.configs.calibration_sets.models import CalibrationPreview, CalibrationSet
from apps.configs.calibration_sets.selectors import previews_of, revisions_naming, sets_of_job
from apps.configs.services.configs import config_create
from controlplane import clock
from controlplane.artifacts import ArtifactStore
from controlplane.domain.spec import Spec
from tests.apps.configs.calibration_sets.test_api import QUANTIZED
from tests.apps.configs.calibration_sets.uploads import jsonl, stored
from tests.apps.pages import committed_queries, polled, queries_of, signed_in
from tests.factories import Cast, config_text, make_cast
from tests.folded import folded

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]
SAMPLE = {
    "row": 2,
    "tokens": 64,
    "truncated": True,
    "text": "<|im_start|>user\nWhere is my parcel?<script>",
    "is_cut": False,
}
RESULT = {
    "dataset": {"dataset": "team/chats", "config": None, "split": "train", "revision": "sha256:ab"},
    "column": "messages",
    "samples": [SAMPLE],
    "size": 1024,
    "max_length": 64,
    "seed": 20_260_101,
    "shortest_tokens": 16,
    "rows_read": 9,
    "skipped_empty": 1,
    "skipped_short": 2,
    "skipped_duplicate": 0,
    "truncated": 1,
    "commit": "local-abc",
}


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def upload(client: Client, name: str, content: bytes, file_name: str = "a.jsonl") -> Any:
    file = SimpleUploadedFile(file_name, content)
    return client.post("/calibration-sets/", {"name": name, "file": file}, follow=True)


def config_on(cast: Cast, dataset: str) -> Any:
    text = config_text("/checkpoints/tiny") + QUANTIZED.format(dataset)
    return config_create(team=cast.team, name="tiny", text=text)


def test_a_member_uploads_sees_the_rows_and_deletes_by_name(cast: Cast) -> None:
    client = signed_in(cast.member)
    assert "No sets yet" in client.get("/calibration-sets/").content.decode()
    page = upload(client, "chats", jsonl(12)).content.decode()
    assert "is kept as version 1" in page
    assert "The capital of France is Paris, and number 9" in page
    assert "is version 1 already" in upload(client, "chats", jsonl(12)).content.decode()
    upload(client, "chats", jsonl(20))
    answer = CalibrationSet.objects.get()
    config_on(cast, "team/chats")
    page = client.get("/calibration-sets/").content.decode()
    assert "team/chats" in page
    assert ">tiny</a>" in page
    old = client.get(f"/calibration-sets/{answer.id}/?version=1").content.decode()
    assert 'value="team/chats@1"' in old
    client.post(f"/calibration-sets/{answer.id}/delete/", {"name": "other"})
    assert CalibrationSet.objects.exists()
    client.post(f"/calibration-sets/{answer.id}/delete/", {"name": "chats"})
    assert not CalibrationSet.objects.exists()


def test_a_refusal_stands_beside_its_field_and_the_name_stays(cast: Cast) -> None:
    client = signed_in(cast.owner)
    for name, content, words in (
        ("chats", jsonl(9) + b"\xff", "Line 10 is not UTF-8"),
        ("two words", jsonl(), "cannot be the name"),
        ("chats", b"", "The file has no rows"),
    ):
        answer = upload(client, name, content)
        page = answer.content.decode()
        assert answer.status_code == 400
        assert words in page
        assert f'value="{name}"' in page
    assert not CalibrationSet.objects.exists()


def test_an_outsider_sees_nothing(cast: Cast) -> None:
    kept = stored(cast.team, "of-inside")
    config = config_on(cast, "team/of-inside")
    signed_in(cast.owner).post("/calibration-sets/previews/", {"config": config.id})
    preview = CalibrationPreview.objects.get()
    outsider = signed_in(cast.outsider)
    assert "of-inside" not in outsider.get("/calibration-sets/").content.decode()
    for path in (f"{kept.set_id}/", f"previews/{preview.id}/"):
        assert outsider.get(f"/calibration-sets/{path}").status_code == 404
    delete = f"/calibration-sets/{kept.set_id}/delete/"
    assert outsider.post(delete, {"name": "of-inside"}).status_code == 404
    answer = outsider.post("/calibration-sets/previews/", {"config": config.id})
    assert answer.status_code == 404
    assert CalibrationPreview.objects.count() == 1
    assert "calibration-sets" in Client().get("/calibration-sets/").headers["Location"]


def test_a_preview_waits_and_then_shows_the_samples_escaped(cast: Cast) -> None:
    config = config_on(cast, "enginehouse/general")
    client = signed_in(cast.owner)
    revision = folded(client.get(f"/configs/{config.id}/revisions/1/").content.decode())
    assert "Preview five samples" in revision
    assert "Preview calibration samples" in folded(
        client.get(f"/configs/{config.id}/").content.decode()
    )
    answer = client.post("/calibration-sets/previews/", {"config": config.id, "revision": "1"})
    path = answer.headers["Location"]
    waiting = polled(client, path)
    assert "Waiting for a build worker" in folded(waiting.content.decode())
    assert "data-moving" in folded(waiting.content.decode())
    again = polled(client, path, **{"HX-PTag": waiting.headers["HX-PTag"]})
    assert again.status_code == 304
    CalibrationPreview.objects.update(state="finished", result=RESULT, finished_at=clock.now())
    page = folded(polled(client, path, **{"HX-PTag": waiting.headers["HX-PTag"]}).content.decode())
    assert "Row 2, 64 tokens, cut off at 64" in page
    assert "&lt;|im_start|&gt;user" in page
    assert "<script>" not in page
    assert "1 empty, 2 too short" in page
    assert "samples of up to 64 tokens, seed 20260101" in page
    failure = {"code": "EHC-NO-TEMPLATE", "sentence": "No chat template.", "hint": "Add one."}
    CalibrationPreview.objects.update(state="failed", result=None, failure=failure)
    page = folded(client.get(path).content.decode())
    assert "No chat template." in page
    assert "Preview again" in page
    assert path in folded(client.get(f"/configs/{config.id}/revisions/1/").content.decode())


def test_a_set_shows_the_previews_of_its_own_versions_alone(cast: Cast) -> None:
    config = config_on(cast, "enginehouse/general")
    client = signed_in(cast.owner)
    upload(client, "chats", jsonl())
    for dataset in ("team/chats", "team/chats@1", "team/chats-of-others"):
        CalibrationPreview.objects.create(
            team=cast.team, revision=config.revisions.get(), dataset=dataset, pool="default"
        )
    answer = CalibrationSet.objects.get()
    assert [each.dataset for each in previews_of(answer)] == ["team/chats@1", "team/chats"]


@pytest.mark.parametrize("number", ["²", "9" * 5000])
def test_a_version_that_is_no_number_shows_the_last_one(cast: Cast, number: str) -> None:
    client = signed_in(cast.owner)
    upload(client, "chats", jsonl())
    answer = client.get(f"/calibration-sets/{CalibrationSet.objects.get().id}/?version={number}")
    assert answer.status_code == 200


def test_the_list_takes_as_many_queries_as_before(cast: Cast) -> None:
    client = signed_in(cast.owner)
    for number in range(3):
        stored(cast.team, f"set-{number}")
    few = queries_of(client, "/calibration-sets/")
    for number in range(3, 9):
        stored(cast.team, f"set-{number}")
    assert queries_of(client, "/calibration-sets/") == few == committed_queries("calibration_sets")


ASKED = """enginehouse:
  gate:
    tasks:
      parcels:
        dataset: team/parcels
        definition:
          output_type: multiple_choice
          doc_to_text: "{{ text }}"
          doc_to_choice: choices
          doc_to_target: answer
"""


def test_a_set_of_questions_keeps_its_columns_and_knows_the_config_whose_gate_asks_it(
    cast: Cast,
) -> None:
    row = '{"text": "Where is parcel number %d today?", "choices": ["here", "gone"], "answer": 1}\n'
    content = "".join(row % number for number in range(12)).encode()
    version = stored(cast.team, "parcels", content)
    text = config_text("/checkpoints/tiny") + QUANTIZED.format("enginehouse/general") + ASKED
    config = config_create(team=cast.team, name="tiny", text=text)
    (naming,) = revisions_naming(team=cast.team, names=["parcels"])
    assert naming.config == config
    assert revisions_naming(team=cast.team, names=["chats"]) == []
    sets = sets_of_job(team=cast.team, spec=Spec.model_validate(naming.spec))
    assert sets["team/parcels"]["content_digest"] == version.content_digest
    store = ArtifactStore.open(settings.ARTIFACT_URL)
    with tempfile.TemporaryDirectory() as folder:
        store.materialize(version.content_digest, Path(folder) / "set")
        assert (Path(folder) / "set" / version.file_name).read_bytes() == content
