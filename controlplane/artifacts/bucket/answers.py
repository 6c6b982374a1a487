"""What an error of the object store client means for the artifact store."""

from controlplane.artifacts.bucket import failures
from controlplane.artifacts.bucket.address import Address
from controlplane.artifacts.bucket.failures import bucket_failure
from controlplane.artifacts.failures import ArtifactFailure
from controlplane.bucket_answers import (
    BUSY_CODES,
    CLOCK_CODES,
    EXPIRED_CODES,
    FULL_CODES,
    FULL_STATUS,
    KEY_CODES,
    NO_BUCKET_CODES,
    Answer,
    is_passing,
)
from controlplane.domain.failures.registry import artifacts

_AGAIN_CODES = frozenset({"ConditionalRequestConflict", "OperationAborted", "RequestTimeout"})


_CERTIFICATE = "InvalidCertificate"


def is_worth_another_try(error: Exception) -> bool:
    answer = Answer.of(error)
    if _CERTIFICATE in answer.text:
        return False
    return is_passing(error) or answer.code in _AGAIN_CODES


def explain(error: Exception, address: Address) -> ArtifactFailure:
    answer = Answer.of(error)
    if address.keys is None and address.endpoint not in answer.text:
        # Who was asked is not the store, but the machine's own service for logins.
        return bucket_failure(artifacts.NO_ROLE, address, detail=answer.first_line)
    if answer.is_about_region:
        return failures.wrong_region(address, answer.region)
    if answer.status is not None:
        return _explain_status(answer.status, answer, address)
    if _CERTIFICATE in answer.text:
        return bucket_failure(artifacts.CERTIFICATE, address)
    if answer.kind == "Timeout":
        return bucket_failure(artifacts.TIMEOUT, address)
    if answer.kind == "Interrupted":
        return bucket_failure(artifacts.BROKEN_OFF, address)
    if answer.kind in ("Connect", "Request"):
        return failures.offline(address, answer.first_line)
    return bucket_failure(artifacts.NOT_A_STORE, address, detail=answer.first_line)


def _explain_status(status: int, answer: Answer, address: Address) -> ArtifactFailure:
    if answer.code in CLOCK_CODES:
        return bucket_failure(artifacts.CLOCK, address)
    if answer.code in FULL_CODES or status == FULL_STATUS:
        return bucket_failure(artifacts.BUCKET_FULL, address, reason=answer.reason)
    if status == 401 or answer.code in KEY_CODES | EXPIRED_CODES:
        return bucket_failure(artifacts.WRONG_LOGIN, address, reason=answer.reason)
    if status == 403:
        return bucket_failure(artifacts.DENIED, address, reason=answer.reason)
    if answer.code in NO_BUCKET_CODES:
        return failures.no_bucket(address)
    if status >= 500 or status == 429 or answer.code in BUSY_CODES | {"RequestTimeout"}:
        return bucket_failure(artifacts.BUSY, address, reason=answer.reason)
    return bucket_failure(artifacts.NOT_A_STORE, address, detail=answer.reason)
