"""How checkpoints outside the hub are named."""

import pytest

from controlplane.domain.spec.choices import CheckpointSource
from controlplane.domain.spec.repository_forms import (
    bucket_folder,
    is_signed,
    is_well_formed,
    meant,
    shown,
    unsigned,
)

S3, GCS, AZURE = CheckpointSource.S3, CheckpointSource.GCS, CheckpointSource.AZURE
URL = CheckpointSource.REMOTE_URL


@pytest.mark.parametrize(
    ("source", "repo", "folder"),
    [
        (S3, "s3://weights/llama/v1", "llama/v1"),
        (S3, "s3://weights/llama/v1/", "llama/v1"),
        (S3, "s3://weights", ""),
        (S3, "s3://my.weights-1/a b/c=1", "a b/c=1"),
        (GCS, "gs://my_weights/llama", "llama"),
        (AZURE, "az://$root/llama", "llama"),
    ],
)
def test_a_bucket_and_its_folder_are_read(source: CheckpointSource, repo: str, folder: str) -> None:
    outcome = bucket_folder(source, repo)
    assert outcome is not None
    assert outcome.folder == folder
    assert bucket_folder(source, str(outcome)) == outcome


@pytest.mark.parametrize(
    ("source", "repo"),
    [
        (S3, "gs://weights/llama"),
        (S3, "s3://"),
        (S3, "s3:///llama"),
        (S3, "s3://Weights/llama"),
        (S3, "s3://evil.example@host/llama"),
        (S3, "s3://weights/../other"),
        (S3, "s3://weights/a//b"),
        (S3, "s3://weights/a?versionId=1"),
        (S3, "s3://weights/a\nb"),
        (AZURE, "az://two--dashes/llama"),
        (AZURE, "az://ab/llama"),
        (URL, "ftp://example.com/x.tar"),
        (URL, "https://user:password@example.com/x.tar"),
        (URL, "https://[::1/x.tar"),
        (URL, "s3://weights/llama"),
    ],
)
def test_another_form_is_refused(source: CheckpointSource, repo: str) -> None:
    assert not is_well_formed(source, repo)


@pytest.mark.parametrize(
    ("source", "repo", "wanted"),
    [
        (S3, "gs://weights/llama", (GCS, "gs://weights/llama")),
        (S3, "weights/llama", (S3, "s3://weights/llama")),
        (GCS, "/weights/llama", (GCS, "gs://weights/llama")),
        (S3, "https://weights.s3.eu-west-1.amazonaws.com/llama", (S3, "s3://weights/llama")),
        (S3, "https://s3.amazonaws.com/weights/llama", (S3, "s3://weights/llama")),
        (URL, "s3://weights/llama", (S3, "s3://weights/llama")),
        (GCS, "https://storage.googleapis.com/weights/llama", (GCS, "gs://weights/llama")),
        (AZURE, "https://acct.blob.core.windows.net/weights/a", (AZURE, "az://weights/a")),
        (S3, "https://example.com/x.tar.gz", (URL, "https://example.com/x.tar.gz")),
        (S3, "s3://WEIGHTS/llama", None),
        (URL, "ftp://example.com/x.tar", None),
    ],
)
def test_what_was_meant_is_offered(
    source: CheckpointSource, repo: str, wanted: tuple[CheckpointSource, str] | None
) -> None:
    assert meant(source, repo) == wanted


def test_an_address_is_shown_without_what_opens_it() -> None:
    assert shown("https://u:p@example.com/x.tar?sig=1#f") == "https://example.com/x.tar"
    assert shown("https://example.com/a@b.tar") == "https://example.com/a@b.tar"
    for password in ("p/w", "p?w", "p#w", "p@w"):
        assert shown(f"https://u:{password}@example.com/x") == "https://example.com/x"
    assert shown("owner/name") == "owner/name"


def test_a_signature_is_told_from_what_names_the_archive() -> None:
    url = "https://example.com/x.tar?id=7&X-Amz-Date=1&X-Amz-Signature=2"
    assert is_signed(url)
    assert unsigned(url) == "https://example.com/x.tar?id=7"
    assert is_signed("https://example.com/x.tar?sv=2024&sig=abc")
    assert not is_signed("https://example.com/x.tar?design=1")
