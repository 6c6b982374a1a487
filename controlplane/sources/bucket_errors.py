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
from controlplane.sources.bucket_words import Lookup
from controlplane.sources.failures import SourceFailure

__all__ = ["STORE_ERRORS", "explain", "is_passing", "was_broken_off"]

_ASLEEP = {"InvalidObjectState", "BlobArchived"}


def explain(error: Exception, lookup: Lookup, *, of_listing: bool = False) -> SourceFailure:
    answer = Answer.of(error)
    if answer.status == 404 and of_listing:
        return bucket_failure(buckets.NO_BUCKET, lookup)
    if answer.status is not None:
        return _explain_status(answer.status, answer, lookup)
    if answer.is_about_region:
        return failures.wrong_region(lookup, None)
    if answer.kind == "Timeout":
        return bucket_failure(buckets.TIMEOUT, lookup)
    if answer.kind in ("Connect", "Request"):
        return bucket_failure(buckets.OFFLINE, lookup, detail=answer.first_line)
    return bucket_failure(buckets.NOT_A_STORE, lookup)


def was_broken_off(error: Exception) -> bool:
    return Answer.of(error).kind == "Interrupted"


def _explain_status(status: int, answer: Answer, lookup: Lookup) -> SourceFailure:
    if answer.code in EXPIRED_CODES:
        return bucket_failure(buckets.EXPIRED, lookup)
    if answer.code in CLOCK_CODES:
        return bucket_failure(buckets.CLOCK, lookup)
    if answer.is_about_region:
        return failures.wrong_region(lookup, answer.region)
    if answer.code in _ASLEEP:
        return bucket_failure(buckets.ARCHIVED, lookup)
    if lookup.has_secret and (status == 401 or answer.code in KEY_CODES):
        return bucket_failure(buckets.KEY, lookup, reason=answer.reason)
    if (
        status in {401, 403}
        or answer.code in KEY_CODES
        or answer.code == "PublicAccessNotPermitted"
    ):
        return _denied(answer, lookup)
    if answer.code in NO_BUCKET_CODES:
        return bucket_failure(buckets.NO_BUCKET, lookup)
    if status == 404:
        return bucket_failure(buckets.CHANGED, lookup, what="a file that was listed is gone")
    if status == 412:
        return bucket_failure(
            buckets.CHANGED, lookup, what="a file that was listed is another one now"
        )
    if status == 429 or answer.code in BUSY_CODES:
        return bucket_failure(buckets.RATE_LIMIT, lookup)
    return bucket_failure(buckets.UNAVAILABLE, lookup, status=status)


def _denied(answer: Answer, lookup: Lookup) -> SourceFailure:
    return failures.denied(lookup, answer.reason)
