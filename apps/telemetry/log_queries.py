"""Logs over REST, with the hosted product's query and lines (management API, 2026-08-22)."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from rest_framework import serializers

from apps.rest.errors import InvalidInput
from apps.rest.serializers import StrictSerializer
from apps.telemetry.logs import BadSearchPattern, LogLine, log_lines

_LATEST_EPOCH_MILLIS = 4_102_444_800_000


class LogQuery(StrictSerializer):
    """Which lines: of a time, newest or oldest first, matching a pattern."""

    start_epoch_millis = serializers.IntegerField(
        required=False,
        min_value=0,
        max_value=_LATEST_EPOCH_MILLIS,
        help_text="From this moment on, in milliseconds since 1970.",
    )
    end_epoch_millis = serializers.IntegerField(
        required=False,
        min_value=0,
        max_value=_LATEST_EPOCH_MILLIS,
        help_text="Before this moment, in milliseconds since 1970.",
    )
    direction = serializers.ChoiceField(
        choices=["asc", "desc"], default="asc", help_text="`asc`: oldest first."
    )
    limit = serializers.IntegerField(
        min_value=1, max_value=1000, default=500, help_text="At most so many lines."
    )
    min_level = serializers.ChoiceField(
        required=False,
        choices=["DEBUG", "INFO", "WARNING", "ERROR"],
        help_text="Leaves out lines below it, and lines that name no level.",
    )
    search_pattern = serializers.CharField(
        required=False, max_length=200, help_text="A regular expression that a line matches."
    )


class LogLineObject(serializers.Serializer[Any]):
    timestamp = serializers.CharField(help_text="Nanoseconds since 1970, as text.")
    message = serializers.CharField(allow_blank=True, help_text="The line, without secrets.")
    level = serializers.CharField(
        allow_null=True,
        help_text="`DEBUG`, `INFO`, `WARNING` or `ERROR`; null where the line names none.",
    )


def lines_of(
    owners: Sequence[str], query: Mapping[str, Any], *, attempt: int | None = None
) -> list[LogLine]:
    """Return the lines that a validated LogQuery asks for. Raises InvalidInput."""
    try:
        return log_lines(
            owners=owners,
            attempt=attempt,
            start=_moment(query.get("start_epoch_millis")),
            end=_moment(query.get("end_epoch_millis")),
            newest_first=query["direction"] == "desc",
            limit=query["limit"],
            search=query.get("search_pattern"),
            min_level=query.get("min_level"),
        )
    except BadSearchPattern as error:
        raise InvalidInput(
            f"`search_pattern`: {error}.",
            fields=["search_pattern"],
            hint="Send a regular expression as PostgreSQL reads it.",
        ) from None


def line_json(line: LogLine) -> dict[str, Any]:
    return {
        "timestamp": str(line.timestamp_nanoseconds),
        "message": line.message,
        "level": line.level,
    }


def _moment(epoch_millis: int | None) -> datetime | None:
    return None if epoch_millis is None else datetime.fromtimestamp(epoch_millis / 1000, UTC)
