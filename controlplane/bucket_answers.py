"""What an error of the object store client says.

The client raises one class for nearly everything; what happened stands in its text, in the same
words for all stores (obstore 0.12.1, pinned for this reason; tests hold each of them).
"""

import re
from dataclasses import dataclass

from obstore.exceptions import BaseError

STORE_ERRORS: tuple[type[Exception], ...] = (BaseError, FileNotFoundError)
"""What the client raises."""

NO_BUCKET_CODES = frozenset({"NoSuchBucket", "ContainerNotFound"})
REGION_CODES = frozenset(
    {"PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException"}
)
EXPIRED_CODES = frozenset({"ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired"})
KEY_CODES = frozenset(
    {
        "InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "InvalidSecurity",
        "AuthenticationFailed", "InvalidAuthenticationInfo", "AuthenticationRequired",
    }
)  # fmt: skip
CLOCK_CODES = frozenset({"RequestTimeTooSkewed", "RequestExpired"})
FULL_CODES = frozenset(
    {
        "XMinioStorageFull", "XMinioAdminBucketQuotaExceeded", "QuotaExceeded",
        "InsufficientStorage", "InsufficientCapacity", "StorageQuotaExceeded",
    }
)  # fmt: skip
FULL_STATUS = 507
BUSY_CODES = frozenset({"SlowDown", "TooManyRequests", "ServerBusy", "RateLimitExceeded"})

_STATUS = re.compile(r"non-2xx status code: (\d{3})")
_CODE = re.compile(r"<Code>([A-Za-z]+)</Code>")
_REGION = re.compile(
    r"<Region>([a-z0-9-]+)</Region>|expecting (?:&apos;|')([a-z0-9-]+)(?:&apos;|')"
)
_KIND = re.compile(r"\bkind: (Timeout|Connect|Interrupted|Request|Decode)\b")
_WORTH_RETRYING = frozenset({408, 429, 500, 502, 503, 504})
# The first line of the client's text; what follows it is for its own developers.
_LONGEST_LINE = 300


@dataclass(frozen=True, kw_only=True)
class Answer:
    status: int | None
    code: str
    kind: str
    text: str

    @classmethod
    def of(cls, error: Exception) -> "Answer":
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

    @property
    def region(self) -> str | None:
        match = _REGION.search(self.text)
        return (match[1] or match[2]) if match else None

    @property
    def is_about_region(self) -> bool:
        moved = self.code in REGION_CODES or self.status in (301, 307, 308)
        return moved or "redirect without LOCATION" in self.text

    @property
    def first_line(self) -> str:
        return self.text.partition("\n")[0][:_LONGEST_LINE]


def is_passing(error: Exception) -> bool:
    answer = Answer.of(error)
    if answer.status is not None:
        return answer.status in _WORTH_RETRYING or answer.code in BUSY_CODES
    return bool(answer.kind) and answer.kind != "Decode"
