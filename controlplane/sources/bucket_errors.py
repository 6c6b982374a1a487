"""What an error of the object store client means for a checkpoint."""

from controlplane.bucket_answers import (
    BUSY_CODES,
    CLOCK_CODES,
    EXPIRED_CODES,
    KEY_CODES,
    NO_BUCKET_CODES,
    STORE_ERRORS,
    Answer,
    is_passing,
)
from controlplane.domain.failures.registry import buckets
from controlplane.sources import bucket_failures as failures
from controlplane.sources.bucket_failures import bucket_failure
from controlplane.sources.bucket_words import Asked
from controlplane.sources.failures import SourceFailure

__all__ = ["STORE_ERRORS", "explain", "is_passing", "was_broken_off"]

_ASLEEP = {"InvalidObjectState", "BlobArchived"}


def explain(error: Exception, asked: Asked, *, of_listing: bool = False) -> SourceFailure:
    answer = Answer.of(error)
    if answer.status == 404 and of_listing:
        return bucket_failure(buckets.NO_BUCKET, asked)
    if answer.status is not None:
        return _explain_status(answer.status, answer, asked)
    if answer.is_about_region:
        return failures.wrong_region(asked, None)
    if answer.kind == "Timeout":
        return bucket_failure(buckets.TIMEOUT, asked)
    if answer.kind in ("Connect", "Request"):
        return bucket_failure(buckets.OFFLINE, asked, detail=answer.first_line)
    return bucket_failure(buckets.NOT_A_STORE, asked)


def was_broken_off(error: Exception) -> bool:
    """Return whether the connection ended in the middle of a file."""
    return Answer.of(error).kind == "Interrupted"


def _explain_status(status: int, answer: Answer, asked: Asked) -> SourceFailure:
    if answer.code in EXPIRED_CODES:
        return bucket_failure(buckets.EXPIRED, asked)
    if answer.code in CLOCK_CODES:
        return bucket_failure(buckets.CLOCK, asked)
    if answer.is_about_region:
        return failures.wrong_region(asked, answer.region)
    if answer.code in _ASLEEP:
        return bucket_failure(buckets.ARCHIVED, asked)
    if asked.has_secret and (status == 401 or answer.code in KEY_CODES):
        return bucket_failure(buckets.KEY, asked, reason=answer.reason)
    if (
        status in {401, 403}
        or answer.code in KEY_CODES
        or answer.code == "PublicAccessNotPermitted"
    ):
        return _denied(answer, asked)
    if answer.code in NO_BUCKET_CODES:
        return bucket_failure(buckets.NO_BUCKET, asked)
    if status == 404:
        return bucket_failure(buckets.CHANGED, asked, what="a file that was listed is gone")
    if status == 412:
        return bucket_failure(
            buckets.CHANGED, asked, what="a file that was listed is another one now"
        )
    if status == 429 or answer.code in BUSY_CODES:
        return bucket_failure(buckets.RATE_LIMIT, asked)
    return bucket_failure(buckets.UNAVAILABLE, asked, status=status)


def _denied(answer: Answer, asked: Asked) -> SourceFailure:
    return failures.denied(asked, answer.reason)
