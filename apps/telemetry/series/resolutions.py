"""The four resolutions: how long a bucket is, how long it is kept, how its table is cut by time."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings

_HOUR_SECONDS = 3600
_DAY_SECONDS = 24 * _HOUR_SECONDS
_SPANS = (
    (10, _HOUR_SECONDS),
    (60, _DAY_SECONDS),
    (_HOUR_SECONDS, 7 * _DAY_SECONDS),
    (_DAY_SECONDS, 90 * _DAY_SECONDS),
)
"""Seconds of a bucket, and of a partition."""


@dataclass(frozen=True, kw_only=True)
class Resolution:
    seconds: int
    """Of a bucket."""
    span_seconds: int
    """Of a partition: what is dropped at once."""
    kept_seconds: int

    @property
    def table(self) -> str:
        return f"telemetry_series_{self.seconds}"


def resolutions() -> Sequence[Resolution]:
    return [
        Resolution(
            seconds=seconds,
            span_seconds=span_seconds,
            kept_seconds=int(settings.SERIES_KEPT[seconds].total_seconds()),
        )
        for seconds, span_seconds in _SPANS
    ]
