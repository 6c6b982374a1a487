"""How far two clocks are apart: from when on it is told, and in which words."""

NOTICED_SECONDS = 60
"""Less is the time that a message takes, or a host that was stopped for a moment."""
_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"))


def noticed(ahead_seconds: float) -> int:
    """Return whole seconds; 0 where the clocks are as good as the same."""
    return round(ahead_seconds) if abs(ahead_seconds) > NOTICED_SECONDS else 0


def skew_words(ahead_seconds: int) -> str:
    """Return `40 days ahead`, or `behind`; empty for 0."""
    if not ahead_seconds:
        return ""
    length, unit = next(each for each in _UNITS if abs(ahead_seconds) >= each[0])
    count = round(abs(ahead_seconds) / length)
    return f"{count} {unit}{'' if count == 1 else 's'} {'ahead' if ahead_seconds > 0 else 'behind'}"
