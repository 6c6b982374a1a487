"""Requests for an archive: redirects followed by hand, each hop checked, failures in words."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from urllib.parse import urljoin

import httpx2

from controlplane.domain.failures.registry import archives
from controlplane.domain.spec.repository_forms import archive_url
from controlplane.sources.address_http import NOT_CONNECTED, send_one_way
from controlplane.sources.addresses import targets
from controlplane.sources.archive_failures import archive_failure
from controlplane.sources.options import SourceOptions

_MOST_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_WORTH_RETRYING = frozenset({408, 429, 500, 502, 503, 504})


@contextmanager
def opened(
    url: str, *, headers: Mapping[str, str], options: SourceOptions
) -> Iterator[httpx2.Response]:
    """Give the answer to one try, its body unread. Raises SourceFailure or one of HTTP_ERRORS."""
    address = url
    for _ in range(_MOST_REDIRECTS + 1):
        with ExitStack() as stack:
            response = _sent(stack, address, headers, options)
            if response.status_code in _REDIRECTS:
                address = _next(address, response.headers.get("location", ""))
                continue
            if response.status_code != 416:
                response.raise_for_status()
            yield response
            return
    raise archive_failure(
        archives.REDIRECT, url, reason=f"leads on more than {_MOST_REDIRECTS} times"
    )


@contextmanager
def answered(
    url: str, *, headers: Mapping[str, str], options: SourceOptions
) -> Iterator[httpx2.Response]:
    """Give the first answer, whatever it says and wherever it leads.

    Raises SourceFailure or one of HTTP_ERRORS.
    """
    with ExitStack() as stack:
        yield _sent(stack, url, headers, options)


def is_passing(error: Exception) -> bool:
    if isinstance(error, httpx2.HTTPStatusError):
        return error.response.status_code in _WORTH_RETRYING
    return isinstance(error, httpx2.TransportError)


def explain(error: Exception, url: str) -> Exception:
    if isinstance(error, httpx2.HTTPStatusError):
        return _explain_status(error.response.status_code, url)
    if isinstance(error, httpx2.TimeoutException):
        return archive_failure(archives.TIMEOUT, url)
    if isinstance(error, httpx2.RemoteProtocolError | httpx2.ReadError):
        return archive_failure(archives.BROKEN, url)
    return archive_failure(archives.OFFLINE, url, detail=type(error).__name__)


def _explain_status(status: int, url: str) -> Exception:
    if status in (401, 403):
        return archive_failure(archives.DENIED, url, status=status)
    if status in (404, 410):
        return archive_failure(archives.NOT_FOUND, url, status=status)
    if status == 429:
        return archive_failure(archives.RATE_LIMIT, url)
    kind = archives.UNAVAILABLE if status >= 500 else archives.REFUSED
    return archive_failure(kind, url, status=status)


def _sent(
    stack: ExitStack, url: str, headers: Mapping[str, str], options: SourceOptions
) -> httpx2.Response:
    ways = targets(url, allow_private=options.allow_private_addresses)
    for number, way in enumerate(ways, 1):
        try:
            return send_one_way(
                stack,
                way,
                # The archive itself: packing on the way would hide where it broke off.
                headers={"accept-encoding": "identity", **headers},
                timeout_seconds=options.timeout_seconds,
            )
        except NOT_CONNECTED:
            if number == len(ways):
                raise
    raise archive_failure(archives.OFFLINE, url, detail="it has no address")


def _next(url: str, location: str) -> str:
    following = urljoin(url, location)
    if not location or archive_url(following) is None:
        raise archive_failure(
            archives.REDIRECT, url, reason="leads on to something that is no http(s) address"
        )
    if url.startswith("https:") and not following.startswith("https:"):
        raise archive_failure(
            archives.REDIRECT, url, reason="leads on from https to an unprotected address"
        )
    return following
