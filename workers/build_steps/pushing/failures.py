"""What the hub or a bucket can answer to a push, as failures in the user's values."""

from huggingface_hub.errors import (
    HfHubHTTPError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from controlplane.bucket_answers import (
    BUSY_CODES,
    EXPIRED_CODES,
    FULL_CODES,
    FULL_STATUS,
    KEY_CODES,
    NO_BUCKET_CODES,
    Answer,
)
from controlplane.domain.failures.kind import FailureKind
from controlplane.domain.failures.registry import pushes
from workers.build_steps.failures import StepFailure
from workers.build_steps.options import PushOrder

# Of payment, of size and of room: the hub answers all three where storage ends.
_FULL_STATUSES = frozenset({402, 413, FULL_STATUS})
_FULL_WORDS = ("storage limit", "storage quota", "quota exceeded", "storage space")


def failed(
    kind: FailureKind, order: PushOrder, place: str, reason: str = "", *, file: str = ""
) -> StepFailure:
    return StepFailure.of(
        kind,
        place=place,
        destination=order.destination,
        secret=order.secret_name,
        reason=reason,
        file=file,
    )


def explain_hub(error: Exception, order: PushOrder, place: str) -> StepFailure:
    if isinstance(error, HfHubHTTPError):
        status = error.response.status_code
        return failed(_hub_kind(error, status), order, place, _reason(error, status))
    if isinstance(error, ValueError):  # what its large file storage refuses
        words = " ".join(str(error).split())[:300]
        kind = pushes.FULL if _is_about_room(words) else pushes.UNAVAILABLE
        return failed(kind, order, place, words)
    return failed(pushes.OFFLINE, order, place)


def _hub_kind(error: HfHubHTTPError, status: int) -> FailureKind:
    if status in _FULL_STATUSES or _is_about_room(error.server_message or ""):
        return pushes.FULL
    if isinstance(error, RepositoryNotFoundError | RevisionNotFoundError) or status == 404:
        return pushes.NOT_FOUND
    known = {401: pushes.LOGIN, 403: pushes.DENIED, 429: pushes.RATE_LIMIT}
    return known.get(status, pushes.UNAVAILABLE)


def _reason(error: HfHubHTTPError, status: int) -> str:
    words = (error.server_message or "").partition("\n")[0][:200]
    return f"HTTP {status}: {words}" if words else f"HTTP {status}"


def _is_about_room(words: str) -> bool:
    return any(each in words.lower() for each in _FULL_WORDS)


def explain_bucket(error: Exception, order: PushOrder, place: str) -> StepFailure:
    answer = Answer.of(error)
    kind = _bucket_kind(answer)
    return failed(kind, order, place, answer.reason if answer.status else answer.kind)


def _bucket_kind(answer: Answer) -> FailureKind:
    if answer.code in FULL_CODES or answer.status == FULL_STATUS:
        return pushes.FULL
    if answer.is_about_region:
        return pushes.REGION
    if answer.status == 401 or answer.code in KEY_CODES | EXPIRED_CODES:
        return pushes.LOGIN
    if answer.status == 429 or answer.code in BUSY_CODES:
        return pushes.RATE_LIMIT
    if answer.status == 404 or answer.code in NO_BUCKET_CODES:
        return pushes.NOT_FOUND
    known = {403: pushes.DENIED, None: pushes.OFFLINE}
    return known.get(answer.status, pushes.UNAVAILABLE)
