"""What a bucket can answer, or fail to, as failures in the user's values."""

from typing import Any

from controlplane.domain.failures.kind import FailureKind
from controlplane.domain.failures.registry import buckets
from controlplane.domain.spec import CheckpointRepository
from controlplane.sources.bucket_words import WORDS, Asked
from controlplane.sources.failures import SourceFailure, code_prefix


def wrong_form(checkpoint: CheckpointRepository, form: str) -> SourceFailure:
    return _of_checkpoint(buckets.URI, checkpoint, source=checkpoint.source, form=form)


def wrong_secret(checkpoint: CheckpointRepository, reason: str) -> SourceFailure:
    words = WORDS[checkpoint.source]
    return _of_checkpoint(
        buckets.SECRET, checkpoint, store=words.name, wanted=words.secret, reason=reason
    )


def no_account(checkpoint: CheckpointRepository) -> SourceFailure:
    return _of_checkpoint(buckets.NO_ACCOUNT, checkpoint)


def unopened(checkpoint: CheckpointRepository, detail: str) -> SourceFailure:
    return _of_checkpoint(buckets.SETUP, checkpoint, detail=detail)


def denied(asked: Asked, reason: str) -> SourceFailure:
    kind = buckets.DENIED if asked.has_secret else buckets.DENIED_WITHOUT_SECRET
    return _of(kind, asked, reason=reason)


def wrong_key(asked: Asked, reason: str) -> SourceFailure:
    return _of(buckets.KEY, asked, reason=reason)


def expired(asked: Asked) -> SourceFailure:
    return _of(buckets.EXPIRED, asked)


def wrong_clock(asked: Asked) -> SourceFailure:
    return _of(buckets.CLOCK, asked)


def wrong_region(asked: Asked, region: str | None) -> SourceFailure:
    secret = asked.checkpoint.runtime_secret_name
    return _of(
        buckets.REGION,
        asked,
        region=f"region `{region}`" if region else "another region",
        setting=f"`aws_region` in the secret `{secret}`" if asked.has_secret else "S3_REGION",
        wanted=f"`{region}`" if region else "the region that its page in the console shows",
    )


def missing_bucket(asked: Asked) -> SourceFailure:
    return _of(buckets.NO_BUCKET, asked)


def missing_folder(asked: Asked) -> SourceFailure:
    return _of(buckets.NOT_FOUND, asked)


def too_many(asked: Asked, most: int) -> SourceFailure:
    return _of(buckets.TOO_MANY, asked, most=most)


def asleep(asked: Asked) -> SourceFailure:
    return _of(buckets.ARCHIVED, asked)


def changed(asked: Asked, what: str) -> SourceFailure:
    return _of(buckets.CHANGED, asked, what=what)


def offline(asked: Asked, detail: str) -> SourceFailure:
    return _of(buckets.OFFLINE, asked, detail=detail)


def timed_out(asked: Asked) -> SourceFailure:
    return _of(buckets.TIMEOUT, asked)


def rate_limited(asked: Asked) -> SourceFailure:
    return _of(buckets.RATE_LIMIT, asked)


def unavailable(asked: Asked, status: int) -> SourceFailure:
    return _of(buckets.UNAVAILABLE, asked, status=status)


def not_a_store(asked: Asked) -> SourceFailure:
    return _of(buckets.NOT_A_STORE, asked)


def broken_off(asked: Asked, path: str) -> SourceFailure:
    return _of(buckets.BROKEN, asked, file=path)


def corrupt(asked: Asked, path: str, expected: str, found: str) -> SourceFailure:
    return _of(buckets.CORRUPT, asked, file=path, expected=expected, found=found)


def _of(kind: FailureKind, asked: Asked, **values: Any) -> SourceFailure:
    words = asked.words
    of_store = {
        "place": asked.place,
        "login": asked.login,
        "store": words.name,
        "bucket": words.bucket,
        "endpoint_setting": words.endpoint_setting,
        "read_access": words.read_access,
        "wanted": words.secret,
    }
    return _of_checkpoint(kind, asked.checkpoint, **{**of_store, **values})


def _of_checkpoint(
    kind: FailureKind, checkpoint: CheckpointRepository, **values: Any
) -> SourceFailure:
    own = kind.under(code_prefix(checkpoint))
    secret = checkpoint.runtime_secret_name
    return SourceFailure(own.failure(repo=checkpoint.repo, secret=secret, **values))
