"""What an error of the object store client means for the artifact store."""

from controlplane.artifacts.bucket import failures
from controlplane.artifacts.bucket.address import Address
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

_AGAIN_CODES = frozenset({"ConditionalRequestConflict", "OperationAborted", "RequestTimeout"})


_CERTIFICATE = "InvalidCertificate"


def is_worth_another_try(error: Exception) -> bool:
    """Return whether the same request may go better a little later."""
    answer = Answer.of(error)
    if _CERTIFICATE in answer.text:
        return False
    return is_passing(error) or answer.code in _AGAIN_CODES


def explain(error: Exception, address: Address) -> ArtifactFailure:
    answer = Answer.of(error)
    if address.keys is None and address.endpoint not in answer.text:
        # Who was asked is not the store, but the machine's own service for logins.
        return failures.no_role(address, answer.first_line)
    if answer.is_about_region:
        return failures.wrong_region(address, answer.region)
    if answer.status is not None:
        return _explain_status(answer.status, answer, address)
    if _CERTIFICATE in answer.text:
        return failures.untrusted(address)
    if answer.kind == "Timeout":
        return failures.timed_out(address)
    if answer.kind == "Interrupted":
        return failures.broken_off(address)
    if answer.kind in ("Connect", "Request"):
        return failures.offline(address, answer.first_line)
    return failures.not_a_store(address, answer.first_line)


def _explain_status(status: int, answer: Answer, address: Address) -> ArtifactFailure:
    if answer.code in CLOCK_CODES:
        return failures.wrong_clock(address)
    if answer.code in FULL_CODES or status == FULL_STATUS:
        return failures.full(address, answer.reason)
    if status == 401 or answer.code in KEY_CODES | EXPIRED_CODES:
        return failures.wrong_login(address, answer.reason)
    if status == 403:
        return failures.denied(address, answer.reason)
    if answer.code in NO_BUCKET_CODES:
        return failures.no_bucket(address)
    if status >= 500 or status == 429 or answer.code in BUSY_CODES | {"RequestTimeout"}:
        return failures.busy(address, answer.reason)
    return failures.not_a_store(address, answer.reason)
