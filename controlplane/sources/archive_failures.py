"""What can go wrong with an archive behind an address, as failures in the user's values."""

from typing import Any

from controlplane.domain.failures.kind import FailureKind
from controlplane.domain.failures.registry import archives
from controlplane.domain.spec import CheckpointRepository
from controlplane.domain.spec.repository_forms import shown
from controlplane.sources.failures import SourceFailure


def wrong_address(checkpoint: CheckpointRepository) -> SourceFailure:
    return _of(archives.URI, checkpoint.repo)


def private_address(url: str, host: str) -> SourceFailure:
    return _of(archives.PRIVATE, url, host=host)


def bad_redirect(url: str, reason: str) -> SourceFailure:
    return _of(archives.REDIRECT, url, reason=reason)


def denied(url: str, status: int) -> SourceFailure:
    return _of(archives.DENIED, url, status=status)


def missing(url: str, status: int) -> SourceFailure:
    return _of(archives.NOT_FOUND, url, status=status)


def refused(url: str, status: int) -> SourceFailure:
    return _of(archives.REFUSED, url, status=status)


def not_an_archive(url: str, reason: str) -> SourceFailure:
    return _of(archives.NOT_AN_ARCHIVE, url, reason=reason)


def unsafe(url: str, reason: str) -> SourceFailure:
    return _of(archives.UNSAFE, url, reason=reason)


def too_large(url: str, reason: str) -> SourceFailure:
    return _of(archives.TOO_LARGE, url, reason=reason)


def changed(url: str, expected: str, found: str) -> SourceFailure:
    return _of(archives.CHANGED, url, expected=expected, found=found)


def late_config(url: str, read_bytes: int) -> SourceFailure:
    return _of(archives.LATE_CONFIG, url, read_megabytes=read_bytes / 1e6)


def offline(url: str, detail: str) -> SourceFailure:
    return _of(archives.OFFLINE, url, detail=detail)


def timed_out(url: str) -> SourceFailure:
    return _of(archives.TIMEOUT, url)


def rate_limited(url: str) -> SourceFailure:
    return _of(archives.RATE_LIMIT, url)


def unavailable(url: str, status: int) -> SourceFailure:
    return _of(archives.UNAVAILABLE, url, status=status)


def broken_off(url: str) -> SourceFailure:
    return _of(archives.BROKEN, url)


def _of(kind: FailureKind, url: str, **values: Any) -> SourceFailure:
    return SourceFailure(kind.failure(url=shown(url), **values))
