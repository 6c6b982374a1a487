from workers.gateway.meter import Meter
from workers.gateway.settings import Bounds


def lateness(
    bounds: Bounds, meter: Meter, last_moved_at: float, *, waits: bool, now: float
) -> str | None:
    """Return the limit that is passed, in words, or None; `waits` until an engine is asked."""
    if now - meter.started_at > bounds.total_seconds:
        return f"The request ran for {bounds.total_seconds:g} s, the longest allowed."
    if meter.has_begun:
        if now - last_moved_at > bounds.idle_seconds:
            return f"The answer stood still for {bounds.idle_seconds:g} s."
    elif not waits and now - meter.started_at > bounds.first_byte_seconds:
        return f"The engine did not begin to answer within {bounds.first_byte_seconds:g} s."
    return None
