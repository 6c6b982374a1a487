"""Which of its time limits a request has passed."""

from workers.gateway.settings import Bounds


def lateness(
    bounds: Bounds, started_at: float, last_moved_at: float | None, *, asking: bool, now: float
) -> str | None:
    """Return the limit that is passed, in words, or None.

    `last_moved_at` is None until the answer began; `asking` from sending until then.
    """
    if now - started_at > bounds.total_seconds:
        return f"The request ran for {bounds.total_seconds:g} s, the longest allowed."
    if asking and now - started_at > bounds.first_byte_seconds:
        return f"The engine did not begin to answer within {bounds.first_byte_seconds:g} s."
    if last_moved_at is not None and now - last_moved_at > bounds.idle_seconds:
        return f"The answer stood still for {bounds.idle_seconds:g} s."
    return None
