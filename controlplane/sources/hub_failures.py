"""What a hub can answer, or fail to, as failures in the user's values."""

from dataclasses import dataclass
from typing import Any

from huggingface_hub.errors import (
    DisabledRepoError,
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from controlplane.domain.failures import fields
from controlplane.domain.failures.kind import FailureKind
from controlplane.domain.failures.registry import hub
from controlplane.domain.spec import CheckpointRepository
from controlplane.sources.bearer import NO_TOKEN
from controlplane.sources.failures import SourceFailure
from controlplane.sources.hub_http import http


@dataclass(frozen=True, kw_only=True)
class Lookup:
    """The words of a request that its failures repeat."""

    checkpoint: CheckpointRepository
    endpoint: str
    has_token: bool

    @property
    def repo(self) -> str:
        return self.checkpoint.repo

    @property
    def secret(self) -> str:
        return self.checkpoint.runtime_secret_name


def explain(error: Exception, lookup: Lookup) -> SourceFailure:
    if isinstance(error, OfflineModeIsEnabled):
        return hub_failure(hub.OFFLINE, lookup, detail="HF_HUB_OFFLINE is set")
    if isinstance(error, http.TimeoutException):
        return hub_failure(hub.TIMEOUT, lookup)
    if isinstance(error, HfHubHTTPError):
        return _explain_status(error, lookup)
    return hub_failure(hub.OFFLINE, lookup, detail=str(error) or type(error).__name__)


def _explain_status(error: HfHubHTTPError, lookup: Lookup) -> SourceFailure:
    if isinstance(error, GatedRepoError):
        return gated(lookup)
    if isinstance(error, RevisionNotFoundError):
        return missing_revision(lookup)
    if isinstance(error, RepositoryNotFoundError):
        return missing_repo(lookup)
    status = error.response.status_code
    if isinstance(error, DisabledRepoError) or status in {401, 403}:
        return refused_token(lookup, status)
    if isinstance(error, EntryNotFoundError):
        return hub_failure(hub.CHANGED, lookup, what="a file that it listed is gone")
    if status == 429:
        return hub_failure(hub.RATE_LIMIT, lookup)
    return hub_failure(hub.UNAVAILABLE, lookup, status=status)


def gated(lookup: Lookup) -> SourceFailure:
    return hub_failure(hub.GATED if lookup.has_token else hub.GATED_WITHOUT_TOKEN, lookup)


def missing_repo(lookup: Lookup) -> SourceFailure:
    return hub_failure(hub.NOT_FOUND if lookup.has_token else hub.NOT_FOUND_WITHOUT_TOKEN, lookup)


def missing_revision(lookup: Lookup) -> SourceFailure:
    revision = lookup.checkpoint.revision
    # The default branch takes its place; where none was asked for, that one is missing.
    fix = {fields.REVISION: None} if revision is not None else None
    return hub_failure(hub.REVISION, lookup, fix=fix, revision=revision or "main")


def refused_token(lookup: Lookup, status: int) -> SourceFailure:
    sent = (
        f"the token in secret `{lookup.secret}`" if lookup.has_token else "a request without token"
    )
    return hub_failure(hub.TOKEN, lookup, sent=sent, status=status)


def no_token(lookup: Lookup) -> SourceFailure:
    return hub_failure(hub.NO_TOKEN, lookup, reason=NO_TOKEN)


def hub_failure(kind: FailureKind, lookup: Lookup, **values: Any) -> SourceFailure:
    return SourceFailure.of(
        kind, repo=lookup.repo, endpoint=lookup.endpoint, secret=lookup.secret, **values
    )
