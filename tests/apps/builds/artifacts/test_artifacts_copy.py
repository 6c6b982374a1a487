"""`manage.py artifacts_copy`: a store moved by an operator."""

import io
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from controlplane.artifacts import ArtifactStore
from controlplane.clock import SYSTEM
from tests.artifacts.places import BucketPlace
from tests.bucket_server import BucketServer


def test_a_store_is_copied_and_what_cannot_be_is_said_without_a_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, old = tmp_path / "set", (tmp_path / "old").as_uri()
    folder.mkdir()
    (folder / "rows.jsonl").write_text("rows")
    digest = ArtifactStore.open(old).publish(folder, {}).content_digest
    with BucketServer("S3", clock=SYSTEM) as server:
        bucket = BucketPlace(server)
        for name, value in bucket.variables.items():
            monkeypatch.setenv(name, value)
        stream = io.StringIO()
        call_command("artifacts_copy", old, f"{bucket.url}/", stdout=stream)
        assert digest in stream.getvalue()
        assert "1 copied (4\u202fB), 0 were there." in stream.getvalue()
        assert bucket.open().verify(digest)
        call_command("artifacts_copy", old, bucket.url, "--verify", stdout=stream)
        assert "0 copied (0\u202fB), 1 were there." in stream.getvalue()
        with pytest.raises(CommandError, match="is both FROM and TO"):
            call_command("artifacts_copy", old, f"{old}/")
        server.is_skewed = True
        with pytest.raises(CommandError, match="the clock of this host") as caught:
            call_command("artifacts_copy", old, bucket.url)
        assert bucket.secret not in str(caught.value)
