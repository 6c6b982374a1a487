"""Artifacts' pages and downloads: the passport whole, every file verified, and nobody else's."""

import io
import json
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from asgiref.sync import async_to_sync
from django.test import AsyncClient
from pytest_django import Settings

from controlplane.artifacts import ArtifactFailure, ArtifactStore
from tests import factories
from tests.apps.builds.stage import make_passported
from tests.apps.pages import committed_queries, queries_of, signed_in
from tests.apps.rest_client import client_of
from tests.folded import folded

if TYPE_CHECKING:
    from apps.builds.models import Artifact
    from tests.factories import Cast

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]
FILES = {"config.json": b'{"model_type": "llama"}', "nested/weights.safetensors": b"w" * 9_000_000}


@pytest.fixture
def published(cast: "Cast", tmp_path: Path, settings: Settings) -> "Artifact":
    """An artifact of the inside team whose files the store really has."""
    settings.ARTIFACT_URL = (tmp_path / "store").as_uri()
    folder = tmp_path / "model"
    for name, content in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    outcome = ArtifactStore.open(settings.ARTIFACT_URL).publish(folder, {"format": 1})
    return make_passported(
        team=cast.team,
        content_digest=outcome.content_digest,
        size_bytes=outcome.size_bytes,
        files=[
            {"path": each.path, "sha256": each.sha256, "size_bytes": each.size_bytes}
            for each in outcome.files
        ],
    )


def test_the_page_says_everything_that_the_passport_holds(cast: "Cast") -> None:
    artifact = make_passported(team=cast.team)
    build = factories.make_finished_build(team=cast.team, artifact=artifact)
    deployment = factories.make_deployment(team=cast.team, build=build, name="first")
    page = folded(signed_in(cast.owner).get(f"/artifacts/{artifact.id}/").content.decode())
    for statement in (
        artifact.content_digest,
        artifact.input_digest,
        "c0ffee" * 6,
        "ab" * 32,
        "enginehouse/general",
        "60 of 64",
        "seed 42",
        "1 empty, 2 too short, 3 repeated skipped",
        "2.13.0",
        "The lost sample begins so",
        "Good enough for drafts",
        "ada@example.com",
        "attempt 2",
        "trt_llm.build.max_batch_size",
        "model_name: tiny",
        f"/builds/{build.number}/",
        f"/models/{deployment.model_id}/{deployment.id}/",
    ):
        assert statement in page, statement
    assert "nothing here has run this artifact" not in page
    assert 'aria-current="page">Artifacts' in page


def test_an_fp4_artifact_says_that_nothing_here_has_run_it(cast: "Cast") -> None:
    artifact = make_passported(team=cast.team, quant_algo="NVFP4")
    page = signed_in(cast.owner).get(f"/artifacts/{artifact.id}/").content.decode()
    assert "nothing here has run this artifact" in page


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        (
            {"compared": True, "reason": None, "tensors": 1272},
            "1\u202f272, as the model class wants",
        ),
        (
            {"compared": False, "reason": "no class `X`", "tensors": 3},
            "3, could not be compared with a model class: no class `X`",
        ),
    ],
)
def test_the_page_says_whether_the_tensors_were_compared_with_their_class(
    cast: "Cast", weights: dict[str, Any], said: str
) -> None:
    artifact = make_passported(team=cast.team)
    artifact.passport = {**artifact.passport, "weights": weights}
    artifact.save()
    assert said in signed_in(cast.owner).get(f"/artifacts/{artifact.id}/").content.decode()


def test_a_digest_is_an_address_too_and_an_outsider_finds_neither(cast: "Cast") -> None:
    artifact = make_passported(team=cast.team)
    owner, outsider = signed_in(cast.owner), signed_in(cast.outsider)
    digest = artifact.content_digest
    for name in (artifact.id, digest, digest.removeprefix("sha256:")):
        assert owner.get(f"/artifacts/{name}/").status_code == 200
        for page in ("", "passport.json", "download"):
            assert outsider.get(f"/artifacts/{name}/{page}").status_code == 404
        assert client_of(cast.owner).get(f"/v1/artifacts/{name}")[1]["id"] == artifact.id
        for page in ("", "/passport", "/download"):
            assert client_of(cast.outsider).get(f"/v1/artifacts/{name}{page}")[0] == 404


def test_the_list_takes_the_committed_number_of_queries_and_says_when_it_is_empty(
    cast: "Cast",
) -> None:
    owner = signed_in(cast.owner)
    assert "No artifacts yet" in owner.get("/artifacts/").content.decode()
    for _ in range(12):
        factories.make_finished_build(
            team=cast.team,
            artifact=make_passported(team=cast.team),
        )
    assert queries_of(owner, "/artifacts/") == committed_queries("artifacts")
    page = owner.get("/artifacts/").content.decode()
    assert "fp8" in page
    assert "passed" in page


def test_the_passport_is_taken_away_as_json(cast: "Cast") -> None:
    artifact = make_passported(team=cast.team)
    answer = signed_in(cast.owner).get(f"/artifacts/{artifact.id}/passport.json")
    assert "attachment" in answer.headers["Content-Disposition"]
    document = answer.json()
    assert document["calibration"]["seed"] == 42
    assert document["inputs"]["commit"] == "c0ffee" * 6
    assert client_of(cast.owner).get(f"/v1/artifacts/{artifact.id}/passport") == (200, document)


def test_the_download_is_a_tar_of_exactly_the_published_files(
    cast: "Cast", published: "Artifact"
) -> None:
    path = f"/artifacts/{published.id}/download"
    answer: Any = signed_in(cast.owner).get(path)
    whole = answer.getvalue()
    assert len(whole) == int(answer.headers["Content-Length"])
    with tarfile.open(fileobj=io.BytesIO(whole)) as archive:
        folder = f"artifact-{published.id}"
        names = archive.getnames()
        assert names == [f"{folder}.passport.json", *(f"{folder}/{name}" for name in FILES)]
        for name, content in FILES.items():
            member = archive.extractfile(f"{folder}/{name}")
            assert member is not None
            assert member.read() == content
        passport = archive.extractfile(names[0])
        assert passport is not None
        assert json.load(passport)["tools"]["torch"] == "2.13.0"
    assert client_of(cast.owner).download(f"/v1{path}") == (200, whole)


def test_a_damaged_file_never_arrives_whole(
    cast: "Cast", published: "Artifact", tmp_path: Path
) -> None:
    digest = published.files[1]["sha256"]
    blob = tmp_path / "store" / "blobs" / "sha256" / digest[:2] / digest
    blob.chmod(0o644)
    blob.write_bytes(b"x" * 9_000_000)
    answer: Any = signed_in(cast.owner).get(f"/artifacts/{published.id}/download")
    arrived: list[bytes] = []
    with pytest.raises(ArtifactFailure):
        arrived.extend(answer.streaming_content)
    assert sum(map(len, arrived)) < int(answer.headers["Content-Length"]) - 600_000


@pytest.mark.django_db(transaction=True)
def test_the_download_streams_under_asgi_as_well(cast: "Cast", published: "Artifact") -> None:
    client = AsyncClient()
    client.force_login(cast.owner)

    async def size() -> int:
        answer: Any = await client.get(f"/artifacts/{published.id}/download")
        assert answer.is_async
        return sum([len(chunk) async for chunk in answer.streaming_content])

    assert async_to_sync(size)() > published.size_bytes


def test_files_that_the_store_lost_are_a_404_with_the_reason(
    cast: "Cast", tmp_path: Path, settings: Settings
) -> None:
    settings.ARTIFACT_URL = (tmp_path / "empty").as_uri()
    artifact = make_passported(team=cast.team)
    status, answer = client_of(cast.owner).get(f"/v1/artifacts/{artifact.id}/download")
    assert status == 404
    assert artifact.content_digest in answer["message"]
