"""Until when a client wants its answer, by the headers that the hosted product's client sends."""

from collections.abc import Mapping

from controlplane.clock import Clock
from workers.gateway.refusals import Refused, malformed

TIMEOUT, DEADLINE = b"request-timeout-ms", b"request-deadline-ms"
_MILLISECONDS = 1000
_MOST_DIGITS = 15


def deadline_in(headers: Mapping[bytes, bytes], clock: Clock) -> float | None:
    """Return it by the clock that measures, the earlier of two; None without one.

    Raises Refused where it cannot be read.
    """
    if TIMEOUT not in headers and DEADLINE not in headers:
        return None
    now, deadlines = clock.monotonic(), []
    if (length := _milliseconds(headers, TIMEOUT)) is not None:
        deadlines.append(now + length / _MILLISECONDS)
    if (moment := _milliseconds(headers, DEADLINE)) is not None:
        deadlines.append(now + moment / _MILLISECONDS - clock.time())
    return min(deadlines)


def _milliseconds(headers: Mapping[bytes, bytes], name: bytes) -> int | None:
    value = headers.get(name)
    if value is None:
        return None
    if not value.isdigit() or len(value) > _MOST_DIGITS:
        shown = value[:40].decode("latin-1")
        meant = "milliseconds" if name == TIMEOUT else "milliseconds since 1970"
        raise Refused(
            malformed(f"`{name.decode()}: {shown}` is no whole number of {meant}. Send one.")
        )
    return int(value)
