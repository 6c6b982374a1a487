"""Posts JSON to a user's address, never to one that the address was not allowed to mean."""

from collections.abc import Collection, Mapping
from contextlib import ExitStack
from http import HTTPStatus
from urllib.parse import urlsplit

from controlplane.domain.failures.registry import archives
from controlplane.domain.notifications import Outcome
from controlplane.sources.address_http import HTTP_ERRORS, NOT_CONNECTED, send_one_way
from controlplane.sources.addresses import Target, targets
from controlplane.sources.failures import SourceFailure

TIMEOUT_SECONDS = 10.0
RETRIED = frozenset({408, 425, 429, *range(500, 600)})
"""Statuses that are passing where nobody says otherwise."""


def post(
    url: str,
    *,
    body: bytes,
    headers: Mapping[str, str],
    allow_private: bool,
    retried: Collection[int] = RETRIED,
) -> Outcome:
    """Return how it went; the words name the host alone, since a path may be a secret."""
    try:
        if urlsplit(url).scheme not in ("http", "https"):
            return _no_address()
        ways = targets(url, allow_private=allow_private)
        return _of_status(_status(ways, body, headers), _host(url), retried)
    except SourceFailure as error:
        return _not_allowed(error, _host(url))
    except HTTP_ERRORS as error:
        return Outcome(
            sentence=f"`{_host(url)}` could not be reached: {_words(error)}.",
            hint="Look whether the address is right and answers from the control worker's host.",
        )
    except ValueError:
        return _no_address()


def _status(ways: list[Target], body: bytes, headers: Mapping[str, str]) -> int:
    for number, way in enumerate(ways, 1):
        try:
            with ExitStack() as stack:
                return send_one_way(
                    stack,
                    way,
                    method="POST",
                    content=body,
                    headers={"content-type": "application/json", **headers},
                    timeout_seconds=TIMEOUT_SECONDS,
                ).status_code
        except NOT_CONNECTED:
            if number == len(ways):
                raise
    raise ValueError("no address")


def _of_status(status: int, host: str, retried: Collection[int]) -> Outcome:
    if status < HTTPStatus.MULTIPLE_CHOICES:
        return Outcome()
    if status < HTTPStatus.BAD_REQUEST:
        sentence = f"`{host}` answered {status}, which leads on elsewhere; that is not followed."
        return Outcome(sentence=sentence, hint="Give the final address.", may_retry=False)
    is_passing = status in retried
    return Outcome(
        sentence=f"`{host}` answered {status}.",
        hint="" if is_passing else "Look whether the address is right and still taken.",
        may_retry=is_passing,
    )


def _not_allowed(error: SourceFailure, host: str) -> Outcome:
    if error.failure.code == archives.PRIVATE.code:
        return Outcome(
            sentence=f"`{host}` is this machine or in a private network, where nothing is sent.",
            hint="Use a public address. The operator can allow private ones with "
            "ALLOW_PRIVATE_ADDRESSES.",
            may_retry=False,
        )
    return Outcome(sentence=f"`{host}` could not be found.", hint="Check the address.")


def _no_address() -> Outcome:
    return Outcome(
        sentence="What is stored is no http(s) address.",
        hint="Store the whole address, such as `https://hooks.slack.com/…`.",
        may_retry=False,
    )


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__


def _host(url: str) -> str:
    return urlsplit(url).hostname or "?"
