from enum import StrEnum

from workers.gateway.meter import Meter
from workers.gateway.request import Admission
from workers.gateway.usage import TokenCounts
from workers.gateway.usage_fields import text_or_null


class RecordState(StrEnum):
    OPEN = "open"
    RUNNING = "running"
    CLOSED = "closed"


_NULL = b"null"
_LINE = (
    b'{"request_id":"%b","state":"%b","at":%.6f,%b,"replica_id":%b,"status":%b,"stream":%b,%b'
    b'"queue_seconds":%b,"first_byte_seconds":%b,"duration_seconds":%.6f,'
    b'"request_bytes":%d,"response_bytes":%d}\n'
)
_UNCOUNTED = b'"prompt_tokens":null,"completion_tokens":null,"cached_tokens":null,'


def usage_line(
    state: RecordState,
    meter: Meter,
    admission: Admission,
    replica_id: str | None,
    counts: TokenCounts | None,
    *,
    at: float,
    now: float,
) -> bytes:
    """Return the record as a JSON line that begins with its request id.

    `at` is the moment by the calendar, `now` by the clock that measures.
    """
    # Twice a request: in one go, for each call more would be a good part of the cost.
    started, asked_at, first = meter.started_at, meter.asked_at, meter.first_byte_at
    return _LINE % (
        meter.request_id,
        state.encode(),
        at,
        admission.usage_fields,
        text_or_null(replica_id),
        _NULL if meter.status is None else b"%d" % meter.status,
        b"true" if meter.stream else b"false",
        _UNCOUNTED if counts is None else _counted(counts),
        _NULL if asked_at is None else b"%.6f" % (asked_at - started),
        _NULL if first is None else b"%.6f" % (first - started),
        now - started,
        meter.request_bytes,
        meter.response_bytes,
    )


def _counted(counts: TokenCounts) -> bytes:
    cached = _NULL if counts.cached is None else b"%d" % counts.cached
    return b'"prompt_tokens":%d,"completion_tokens":%d,"cached_tokens":%b,' % (
        counts.prompt, counts.completion, cached,
    )  # fmt: skip
