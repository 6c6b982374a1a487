"""What an error of the object store client means.

The client raises one class for nearly everything; what happened stands in its text, in the same
words for all stores (obstore 0.12.1, pinned for this reason; tests hold each of them).
"""

import re
from dataclasses import dataclass

from obstore.exceptions import BaseError

from controlplane.sources import bucket_failures as failures
from controlplane.sources.bucket_words import Asked
from controlplane.sources.failures import SourceFailure

STORE_ERRORS: tuple[type[Exception], ...] = (BaseError, FileNotFoundError)
"""What the client raises."""

_STATUS = re.compile(r"non-2xx status code: (\d{3})")
_CODE = re.compile(r"<Code>([A-Za-z]+)</Code>")
_REGION = re.compile(
    r"<Region>([a-z0-9-]+)</Region>|expecting (?:&apos;|')([a-z0-9-]+)(?:&apos;|')"
)
_KIND = re.compile(r"\bkind: (Timeout|Connect|Interrupted|Request|Decode)\b")

_NO_BUCKET = {"NoSuchBucket", "ContainerNotFound"}
_REGIONS = {
    "PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException",
}  # fmt: skip
_EXPIRED = {"ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired"}
_KEYS = {
    "InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "InvalidSecurity",
    "AuthenticationFailed", "InvalidAuthenticationInfo", "AuthenticationRequired",
}  # fmt: skip
_CLOCK = {"RequestTimeTooSkewed", "RequestExpired"}
_BUSY = {"SlowDown", "TooManyRequests", "ServerBusy", "RateLimitExceeded"}
_ASLEEP = {"InvalidObjectState", "BlobArchived"}
_WORTH_RETRYING = frozenset({408, 429, 500, 502, 503, 504})
# The first line of the client's text; what follows it is for its own developers.
_LONGEST_DETAIL = 300


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What can be read from an error."""

    status: int | None
    code: str
    kind: str
    text: str

    @classmethod
    def of(cls, error: Exception) -> "Answer":
        """Return what an error tells."""
        text = str(error)
        status, code, kind = _STATUS.search(text), _CODE.search(text), _KIND.search(text)
        return cls(
            status=int(status[1]) if status else None,
            code=code[1] if code else "",
            kind=kind[1] if kind else "",
            text=text,
        )

    @property
    def reason(self) -> str:
        """The store's own code, or the status."""
        return self.code or f"HTTP {self.status}"


def is_passing(error: Exception) -> bool:
    """Return whether another try may go better."""
    answer = Answer.of(error)
    if answer.status is not None:
        return answer.status in _WORTH_RETRYING or answer.code in _BUSY
    return bool(answer.kind) and answer.kind != "Decode"


def explain(error: Exception, asked: Asked, *, of_listing: bool = False) -> SourceFailure:
    """Return the failure that an error of the client means."""
    answer = Answer.of(error)
    if answer.status == 404 and of_listing:
        return failures.missing_bucket(asked)
    if answer.status is not None:
        return _explain_status(answer.status, answer, asked)
    if "redirect without LOCATION" in answer.text:
        return failures.wrong_region(asked, None)
    if answer.kind == "Timeout":
        return failures.timed_out(asked)
    if answer.kind in ("Connect", "Request"):
        return failures.offline(asked, answer.text.partition("\n")[0][:_LONGEST_DETAIL])
    return failures.not_a_store(asked)


def was_broken_off(error: Exception) -> bool:
    """Return whether the connection ended in the middle of a file."""
    return Answer.of(error).kind == "Interrupted"


def _explain_status(status: int, answer: Answer, asked: Asked) -> SourceFailure:
    if answer.code in _EXPIRED:
        return failures.expired(asked)
    if answer.code in _CLOCK:
        return failures.wrong_clock(asked)
    if answer.code in _REGIONS or status in (301, 307, 308):
        region = _REGION.search(answer.text)
        return failures.wrong_region(asked, (region[1] or region[2]) if region else None)
    if answer.code in _ASLEEP:
        return failures.asleep(asked)
    if status == 401 or answer.code in _KEYS:
        known = asked.has_secret
        return failures.wrong_key(asked, answer.reason) if known else _denied(answer, asked)
    if status == 403 or answer.code == "PublicAccessNotPermitted":
        return _denied(answer, asked)
    if answer.code in _NO_BUCKET:
        return failures.missing_bucket(asked)
    if status == 404:
        return failures.changed(asked, "a file that was listed is gone")
    if status == 412:
        return failures.changed(asked, "a file that was listed is another one now")
    if status == 429 or answer.code in _BUSY:
        return failures.rate_limited(asked)
    return failures.unavailable(asked, status)


def _denied(answer: Answer, asked: Asked) -> SourceFailure:
    return failures.denied(asked, answer.reason)
