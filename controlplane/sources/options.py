"""What the operator decides about where checkpoints come from, and the clock to wait by."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controlplane.clock import SYSTEM, Clock

DEFAULT_HF_ENDPOINT = "https://huggingface.co"
_ENDPOINTS = ("hf_endpoint", "s3_endpoint", "gcs_endpoint", "azure_endpoint")


@dataclass(frozen=True, kw_only=True)
class SourceOptions:
    local_checkpoint_roots: tuple[str, ...] = ()
    """Folders that `LOCAL` checkpoints may lie in (LOCAL_CHECKPOINT_ROOTS)."""
    hf_endpoint: str = DEFAULT_HF_ENDPOINT
    s3_endpoint: str | None = None
    """A store of one's own that speaks S3 (S3_ENDPOINT); AWS when absent."""
    s3_region: str = "us-east-1"
    """The region where a secret names none (S3_REGION)."""
    gcs_endpoint: str | None = None
    azure_endpoint: str | None = None
    """Where the account's containers are, its name included where that is part of the path."""
    azure_account: str | None = None
    """The storage account where a secret names none (AZURE_ACCOUNT)."""
    allow_private_addresses: bool = False
    """Whether `REMOTE_URL` may reach this machine and its own network."""
    cache_dir: Path | None = None
    """Where downloads are kept, so that a broken one goes on where it stopped."""
    timeout_seconds: float = 20.0
    """The longest silence of a server before it counts as gone."""
    attempts: int = 5
    """Tries in a row that bring no byte before a request is given up."""
    backoff_seconds: float = 1.0
    """The pause after the first failed try; it doubles with each further one, up to 16 times."""
    parallel_files: int = 4
    archive_files: int = 10_000
    """The most members that an archive may have."""
    archive_growth: float = 50.0
    """How many times its own size an archive may unpack to; weights hardly shrink at all."""
    archive_small_bytes: int = 1_000_000_000
    """Up to this unpacked size the growth does not matter."""
    archive_peek_bytes: int = 1_000_000_000
    """How much of an archive is read for its facts before the download."""
    archive_peek_seconds: float = 60.0
    clock: Clock = SYSTEM

    @classmethod
    def from_mapping(cls, options: Mapping[str, Any]) -> "SourceOptions":
        """Return the options found among those of a build job; absent ones keep their defaults."""
        known = cls.__dataclass_fields__.keys() - {"clock"}
        given = {name: options[name] for name in known if options.get(name)}
        if roots := given.get("local_checkpoint_roots"):
            given["local_checkpoint_roots"] = tuple(roots)
        if folder := given.get("cache_dir"):
            given["cache_dir"] = Path(folder)
        for name in _ENDPOINTS:
            if endpoint := given.get(name):
                given[name] = endpoint.rstrip("/")
        return cls(**given)
