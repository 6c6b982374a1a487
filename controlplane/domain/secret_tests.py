"""What a secret can be tested on, and what a test has to say."""

from dataclasses import dataclass
from enum import StrEnum


class ProbeKind(StrEnum):
    """What the secret is to open."""

    HUB = "hub"
    """A repository of the hub."""
    S3 = "s3"
    GCS = "gcs"
    AZURE = "azure"
    URL = "url"
    """An address that takes a bearer token."""


@dataclass(frozen=True, kw_only=True)
class ProbeAnswer:
    """Whether a secret opens something, in words that hold no value."""

    works: bool
    sentence: str
    hint: str = ""
