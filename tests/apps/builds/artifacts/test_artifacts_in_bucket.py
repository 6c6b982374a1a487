"""Artifacts in a bucket as the web process sees them: taken away, deleted, and refused."""

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from asgiref.sync import async_to_sync
from django.db import connections
from django.http import StreamingHttpResponse
from django.test import AsyncClient
from pytest_django import Settings

from apps.builds.artifacts.download import artifact_archive_answer
from apps.builds.models import Artifact
from apps.configs.calibration_sets.services.sets import set_delete, set_upload
from apps.rest.errors import Unavailable
from controlplane.clock import SYSTEM
from tests.apps.builds.stage import make_passported
from tests.apps.configs.calibration_sets.uploads import jsonl
from tests.apps.pages import signed_in
from tests.apps.rest_client import client_of
from tests.artifacts.places import BucketPlace
from tests.bucket_server import BucketServer, Trouble

if TYPE_CHECKING:
    from tests.factories import Cast

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker"), pytest.mark.wide]
DAY = 86_400.0
WEIGHTS = b"w" * 9_000_000


@pytest.fixture
def bucket(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[BucketPlace]:
    with BucketServer("S3", clock=SYSTEM) as server:
        place = BucketPlace(server)
        settings.ARTIFACT_URL = place.url
        for name, value in place.variables.items():
            monkeypatch.setenv(name, value)
        yield place


@pytest.fixture
def published(cast: "Cast", bucket: BucketPlace, tmp_path: Path) -> Artifact:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "weights.safetensors").write_bytes(WEIGHTS)
    outcome = bucket.open().publish(folder, {"format": 1})
    files = [
        {"path": each.path, "sha256": each.sha256, "size_bytes": each.size_bytes}
        for each in outcome.files
    ]
    return make_passported(
        team=cast.team,
        content_digest=outcome.content_digest,
        size_bytes=outcome.size_bytes,
        files=files,
    )


def test_the_download_is_a_tar_of_the_published_files(
    cast: "Cast", published: Artifact, bucket: BucketPlace
) -> None:
    answer = signed_in(cast.owner).get(f"/artifacts/{published.id}/download")
    whole = b"".join(answer)
    assert len(whole) == int(answer["Content-Length"])
    with tarfile.open(fileobj=io.BytesIO(whole)) as archive:
        member = archive.extractfile(f"artifact-{published.id}/weights.safetensors")
        assert member is not None
        assert member.read() == WEIGHTS


def test_the_download_comes_in_small_pieces_under_asgi(cast: "Cast", published: Artifact) -> None:
    client = AsyncClient()
    client.cookies = signed_in(cast.owner).cookies

    async def pieces() -> list[int]:
        answer: Any = await client.get(f"/artifacts/{published.id}/download")
        assert answer.is_async
        return [len(chunk) async for chunk in answer.streaming_content]

    sizes = async_to_sync(pieces)()
    assert sum(sizes) > len(WEIGHTS)
    assert max(sizes) < 3_000_000


@pytest.mark.django_db(transaction=True)
def test_no_database_connection_is_held_while_the_bucket_is_read(
    published: Artifact, bucket: BucketPlace, rf: Any
) -> None:
    holders: list[bool] = []
    ours = connections["default"]  # of this thread, which the server's are not
    bucket.server.pass_get = lambda key: holders.append(ours.connection is not None)
    ours.ensure_connection()
    answer = artifact_archive_answer(rf.get("/"), published)
    assert isinstance(answer, StreamingHttpResponse)
    for _ in answer:
        holders.append(ours.connection is not None)
    assert holders
    assert not any(holders)


def test_a_store_that_does_not_answer_is_a_503_with_the_reason(
    cast: "Cast", published: Artifact, bucket: BucketPlace
) -> None:
    bucket.server.is_skewed = True
    status, answer = client_of(cast.owner).get(f"/v1/artifacts/{published.id}/download")
    assert status == 503
    assert "the clock of this host" in answer["message"]
    assert "NTP" in answer["hint"]
    assert bucket.secret not in str(answer)


def test_what_broke_off_in_the_middle_is_gone_on_with(
    cast: "Cast", published: Artifact, bucket: BucketPlace
) -> None:
    (part,) = (key for key in bucket.kept("blobs"))
    bucket.server.trouble(f"team/artifacts/{part}", Trouble(times=1, break_after=4_000_000))
    answer = signed_in(cast.owner).get(f"/artifacts/{published.id}/download")
    assert len(b"".join(answer)) == int(answer["Content-Length"])


def test_a_deletion_lets_the_day_begin_and_waits_for_a_store_that_does_not_answer(
    cast: "Cast", published: Artifact, bucket: BucketPlace
) -> None:
    bucket.age(9 * DAY)
    api, path = client_of(cast.owner), f"/v1/artifacts/{published.id}"
    bucket.server.is_read_only = True
    assert api.delete(path)[0] == 503
    assert Artifact.objects.filter(id=published.id).exists()
    bucket.server.is_read_only = False
    assert api.delete(path)[0] == 200
    assert bucket.open().sweep([], DAY).artifacts == 0
    bucket.age(2 * DAY)
    assert bucket.open().sweep([], DAY).artifacts == 1


def test_a_set_of_calibration_data_lies_in_the_bucket_too(
    cast: "Cast", bucket: BucketPlace
) -> None:
    def upload() -> Any:
        return set_upload(
            team=cast.team, name="news", file=io.BytesIO(jsonl()), file_name="news.jsonl"
        )

    version = upload().version
    assert bucket.open().verify(version.content_digest)
    bucket.server.is_skewed = True
    for refused in (upload, lambda: set_delete(calibration_set=version.set)):
        with pytest.raises(Unavailable):
            refused()
    bucket.server.is_skewed = False
    bucket.age(9 * DAY)
    set_delete(calibration_set=version.set)
    assert bucket.open().sweep([], DAY).artifacts == 0
