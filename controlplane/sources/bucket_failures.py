"""What a bucket can answer, or fail to, as failures in the user's values."""

from typing import Any

from controlplane.domain.failures.kind import FailureKind
from controlplane.domain.failures.registry import buckets
from controlplane.domain.spec import CheckpointRepository
from controlplane.sources.bucket_words import WORDS, Lookup
from controlplane.sources.failures import SourceFailure, code_prefix


def wrong_form(checkpoint: CheckpointRepository, form: str) -> SourceFailure:
    return setup_failure(buckets.URI, checkpoint, source=checkpoint.source, form=form)


def wrong_secret(checkpoint: CheckpointRepository, reason: str) -> SourceFailure:
    words = WORDS[checkpoint.source]
    return setup_failure(
        buckets.SECRET, checkpoint, store=words.name, wanted=words.secret, reason=reason
    )


def denied(lookup: Lookup, reason: str) -> SourceFailure:
    kind = buckets.DENIED if lookup.has_secret else buckets.DENIED_WITHOUT_SECRET
    return bucket_failure(kind, lookup, reason=reason)


def wrong_region(lookup: Lookup, region: str | None) -> SourceFailure:
    secret = lookup.checkpoint.runtime_secret_name
    return bucket_failure(
        buckets.REGION,
        lookup,
        region=f"region `{region}`" if region else "another region",
        setting=f"`aws_region` in the secret `{secret}`" if lookup.has_secret else "S3_REGION",
        wanted=f"`{region}`" if region else "the region that its page in the console shows",
    )


def too_many(lookup: Lookup, most: int) -> SourceFailure:
    return bucket_failure(buckets.TOO_MANY, lookup, most=most)


def bucket_failure(kind: FailureKind, lookup: Lookup, **values: Any) -> SourceFailure:
    words = lookup.words
    of_store = {
        "place": lookup.place,
        "login": lookup.login,
        "store": words.name,
        "bucket": words.bucket,
        "endpoint_setting": words.endpoint_setting,
        "read_access": words.read_access,
        "wanted": words.secret,
    }
    return setup_failure(kind, lookup.checkpoint, **{**of_store, **values})


def setup_failure(
    kind: FailureKind, checkpoint: CheckpointRepository, **values: Any
) -> SourceFailure:
    own = kind.under(code_prefix(checkpoint))
    secret = checkpoint.runtime_secret_name
    return SourceFailure.of(own, repo=checkpoint.repo, secret=secret, **values)
