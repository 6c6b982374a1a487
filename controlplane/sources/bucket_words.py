from collections.abc import Mapping
from dataclasses import dataclass

from controlplane.domain.spec import CheckpointRepository
from controlplane.domain.spec.choices import CheckpointSource


@dataclass(frozen=True, kw_only=True)
class StoreWords:
    """How one kind of store calls its things."""

    name: str
    bucket: str
    endpoint_setting: str
    secret: str
    """What its secret holds."""
    read_access: str
    """What a login needs for a checkpoint to be read."""


WORDS: Mapping[CheckpointSource, StoreWords] = {
    CheckpointSource.S3: StoreWords(
        name="S3",
        bucket="bucket",
        endpoint_setting="S3_ENDPOINT",
        secret="a JSON object with `aws_access_key_id`, `aws_secret_access_key`, optionally "
        "`aws_region` (us-east-1 when absent) and `aws_session_token`",
        read_access="`s3:ListBucket` on the bucket and `s3:GetObject` on its objects",
    ),
    CheckpointSource.GCS: StoreWords(
        name="Google Cloud Storage",
        bucket="bucket",
        endpoint_setting="GCS_ENDPOINT",
        secret="the JSON key of a service account, with `client_email`, `private_key` and "
        "`private_key_id`",
        read_access="the role `Storage Object Viewer` on the bucket",
    ),
    CheckpointSource.AZURE: StoreWords(
        name="Azure Blob Storage",
        bucket="container",
        endpoint_setting="AZURE_ENDPOINT",
        secret="a JSON object with `account_key` and, unless AZURE_ACCOUNT is set, `account_name`",
        read_access="an access key of the storage account, with shared key access allowed",
    ),
}


@dataclass(frozen=True, kw_only=True)
class Lookup:
    """The words of a request that its failures repeat."""

    checkpoint: CheckpointRepository
    place: str
    """The endpoint, without a path."""
    has_secret: bool

    @property
    def words(self) -> StoreWords:
        return WORDS[self.checkpoint.source]

    @property
    def repo(self) -> str:
        return self.checkpoint.repo

    @property
    def login(self) -> str:
        if self.has_secret:
            return f"the login in secret `{self.checkpoint.runtime_secret_name}`"
        return "a request without a login"
