"""A bucket with a checkpoint, and what is asked of it."""

from pathlib import Path
from typing import Any

import pytest

from controlplane.artifacts import describe
from controlplane.domain.spec import CheckpointRepository
from controlplane.sources import Resolved, SourceFailure, SourceOptions, fetch, resolve
from tests.bucket_server import BucketServer
from tests.manual_clock import ManualClock

SCHEMES = {"S3": "s3", "GCS": "gs", "AZURE": "az"}
PREFIXES = {"S3": "ES3", "GCS": "EGC", "AZURE": "EAZ"}
WEIGHTS = "llama/v1/model.safetensors"


class Asking:
    """One store with the tiny checkpoint in `weights/llama/v1`, and what is asked of it."""

    def __init__(self, server: BucketServer, files: dict[str, bytes], cache: Path) -> None:
        self.server = server
        self.files = files
        self.secret: str | None = server.secret
        self.clock = ManualClock(sleeping_moves_it=True)
        self.options = SourceOptions(
            s3_endpoint=server.endpoint,
            gcs_endpoint=server.endpoint,
            azure_endpoint=server.endpoint,
            azure_account="weightsaccount",
            cache_dir=cache,
            timeout_seconds=60,
            attempts=3,
            clock=self.clock,
        )
        self.checkpoint = self.named("weights/llama/v1")
        server.put_files("weights", "llama/v1", files)

    @property
    def prefix(self) -> str:
        return PREFIXES[self.server.source]

    def named(self, path: str) -> CheckpointRepository:
        return CheckpointRepository.model_validate(
            {
                "source": self.server.source,
                "repo": f"{SCHEMES[self.server.source]}://{path}",
                "runtime_secret_name": "bucket_login",
            }
        )

    def resolve(self, **changes: Any) -> Resolved:
        body = {"token": self.secret, "options": self.options, **changes}
        return resolve(self.checkpoint, **body)

    def fetch(self, destination: Path, resolved: Resolved | None = None) -> list[int]:
        seen: list[int] = []
        files = fetch(
            resolved or self.resolve(),
            destination,
            token=self.secret,
            options=self.options,
            on_progress=lambda done, total: seen.append(done),
        )
        assert files == describe(destination)
        return seen

    def refusal(self, code: str, call: Any = None) -> SourceFailure:
        with pytest.raises(SourceFailure) as caught:
            (call or self.resolve)()
        failure = caught.value.failure
        assert failure.code == f"{self.prefix}-{code}"
        assert failure.hint
        assert failure.sentence.endswith(".")
        for name in ("aws_secret_access_key", "private_key", "account_key"):
            value = self.server.login.secret.get(name)
            assert value is None or value not in str(failure.to_json())
        return caught.value


only_s3 = pytest.mark.parametrize("asking", ["S3"], indirect=True)
only_gcs = pytest.mark.parametrize("asking", ["GCS"], indirect=True)
only_azure = pytest.mark.parametrize("asking", ["AZURE"], indirect=True)
