"""What a hub can answer, or fail to, as failures in the user's values."""

from dataclasses import dataclass

from huggingface_hub.errors import (
    DisabledRepoError,
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from controlplane.domain.spec import CheckpointRepository
from controlplane.sources.bearer import NO_TOKEN
from controlplane.sources.failures import SourceFailure, of_checkpoint, of_configuration, of_machine
from controlplane.sources.hub_http import http


@dataclass(frozen=True, kw_only=True)
class Asked:
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


def explain(error: Exception, asked: Asked) -> SourceFailure:
    """Return the failure that an exception of the hub's client means."""
    if isinstance(error, OfflineModeIsEnabled):
        return offline(asked, "HF_HUB_OFFLINE is set")
    if isinstance(error, http.TimeoutException):
        return timed_out(asked)
    if isinstance(error, HfHubHTTPError):
        return _explain_status(error, asked)
    return offline(asked, str(error) or type(error).__name__)


def _explain_status(error: HfHubHTTPError, asked: Asked) -> SourceFailure:
    if isinstance(error, GatedRepoError):
        return gated(asked)
    if isinstance(error, RevisionNotFoundError):
        return missing_revision(asked)
    if isinstance(error, RepositoryNotFoundError):
        return missing_repo(asked)
    status = error.response.status_code
    if isinstance(error, DisabledRepoError) or status in {401, 403}:
        return refused_token(asked, status)
    if isinstance(error, EntryNotFoundError):
        return changed(asked, "a file that it listed is gone")
    if status == 429:
        return rate_limited(asked)
    return unavailable(asked, status)


def gated(asked: Asked) -> SourceFailure:
    """Return the failure for a repository whose terms this token's owner has not accepted."""
    reason = (
        f"the owner of the token in secret `{asked.secret}` has not been given access"
        if asked.has_token
        else f"no token was sent: {_not_listed(asked)}"
    )
    return of_configuration(
        "EHF-GATED",
        f"`{asked.repo}` is gated and {reason}.",
        "runtime_secret_name",
        f"Ask for access at {asked.endpoint}/{asked.repo}, store a token of that account as the "
        f"secret `{asked.secret}`, and list `{asked.secret}` under `secrets`.",
    )


def missing_repo(asked: Asked) -> SourceFailure:
    """Return the failure for a repository that is not there, or not for us."""
    private = (
        f"the token in secret `{asked.secret}` may not see it"
        if asked.has_token
        else f"it is private and no token was sent: {_not_listed(asked)}"
    )
    return of_configuration(
        "EHF-NOT-FOUND",
        f"{asked.endpoint} has no repository `{asked.repo}`, or {private}.",
        "repo",
        f"Check the spelling. For a private repository, store a token that may read it as the "
        f"secret `{asked.secret}` and list it under `secrets`.",
    )


def missing_revision(asked: Asked) -> SourceFailure:
    """Return the failure for a branch, tag or commit that the repository does not have."""
    revision = asked.checkpoint.revision or "main"
    return of_configuration(
        "EHF-REVISION",
        f"`{asked.repo}` has no revision `{revision}`.",
        "revision",
        f"Name a branch, tag or commit listed at {asked.endpoint}/{asked.repo}/commits/main.",
        # The default branch takes its place; where none was asked for, that one is missing.
        without=asked.checkpoint.revision is not None,
    )


def refused_token(asked: Asked, status: int) -> SourceFailure:
    """Return the failure for a token that the hub does not accept."""
    sent = f"the token in secret `{asked.secret}`" if asked.has_token else "a request without token"
    return of_configuration(
        "EHF-TOKEN",
        f"{asked.endpoint} refused {sent} for `{asked.repo}` (HTTP {status}).",
        "runtime_secret_name",
        f"Make a new token with read access at {asked.endpoint}/settings/tokens and store it as "
        f"the secret `{asked.secret}`.",
    )


def no_token(asked: Asked) -> SourceFailure:
    """Return the failure for a secret that can be no token, whatever the hub."""
    return of_configuration(
        "EHF-TOKEN",
        f"The secret `{asked.secret}` holds no token: {NO_TOKEN}.",
        "runtime_secret_name",
        f"Store the token itself, as {asked.endpoint}/settings/tokens shows it, as the secret "
        f"`{asked.secret}`.",
    )


def offline(asked: Asked, detail: str) -> SourceFailure:
    """Return the failure for a hub that cannot be reached."""
    return of_machine(
        "EHF-OFFLINE",
        f"{asked.endpoint} cannot be reached from this machine, so `{asked.repo}` was not fetched.",
        "Check the network and HF_ENDPOINT, or copy the checkpoint into a folder of "
        "LOCAL_CHECKPOINT_ROOTS and use source `LOCAL`.",
        detail,
    )


def timed_out(asked: Asked) -> SourceFailure:
    """Return the failure for a hub that stopped answering."""
    return of_machine(
        "EHF-TIMEOUT",
        f"{asked.endpoint} stopped answering while `{asked.repo}` was being fetched.",
        "Retry: what was fetched so far is kept. If it persists, check the network and proxy.",
    )


def rate_limited(asked: Asked) -> SourceFailure:
    """Return the failure for a hub that wants fewer requests."""
    return of_machine(
        "EHF-RATE-LIMIT",
        f"{asked.endpoint} allows no more requests for now (HTTP 429), asked for `{asked.repo}`.",
        f"Retry later, or store a token as the secret `{asked.secret}`: it has a higher limit.",
    )


def unavailable(asked: Asked, status: int) -> SourceFailure:
    """Return the failure for a hub that answers with an error of its own."""
    return of_machine(
        "EHF-UNAVAILABLE",
        f"{asked.endpoint} answered HTTP {status} for `{asked.repo}`.",
        "Retry later: what was fetched so far is kept.",
    )


def not_a_hub(asked: Asked) -> SourceFailure:
    """Return the failure for an address where something else than a hub answers."""
    return of_machine(
        "EHF-NOT-A-HUB",
        f"{asked.endpoint} does not answer like a Hugging Face hub when asked for `{asked.repo}`.",
        "Check HF_ENDPOINT, and whether a proxy or sign-in page answers in the hub's place.",
    )


def broken_off(asked: Asked, path: str) -> SourceFailure:
    """Return the failure for a file whose download broke off again and again."""
    return of_machine(
        "EHF-BROKEN",
        f"{asked.endpoint} broke off while sending `{path}` of `{asked.repo}`, several times.",
        "Retry: what was fetched so far is kept.",
    )


def corrupt(asked: Asked, path: str, expected: str, found: str) -> SourceFailure:
    """Return the failure for a file that arrived, twice, as something else."""
    return of_machine(
        "EHF-CORRUPT",
        f"`{path}` of `{asked.repo}` arrived as something else than {asked.endpoint} lists: "
        f"`{found}` where `{expected}` was expected.",
        "Retry. If it persists, a proxy or mirror between here and the hub alters files.",
    )


def changed(asked: Asked, what: str) -> SourceFailure:
    """Return the failure for a repository that changed under a pinned commit."""
    return of_checkpoint(
        "EHF-CHANGED",
        f"`{asked.repo}` changed while it was being fetched: {what}.",
        "Check the config again, then build: the history was probably rewritten.",
        "revision",
    )


def too_large(asked: Asked, path: str) -> SourceFailure:
    """Return the failure for a single file that the hub does not send over plain HTTP."""
    return of_checkpoint(
        "EHF-TOO-LARGE",
        f"`{path}` of `{asked.repo}` is larger than the 50 GB that {asked.endpoint} sends in one "
        "piece.",
        "Save the model again in shards (save_pretrained does so), or copy it into a folder of "
        "LOCAL_CHECKPOINT_ROOTS and use source `LOCAL`.",
    )


def _not_listed(asked: Asked) -> str:
    return f"`{asked.secret}` is not a stored secret that the config lists"
