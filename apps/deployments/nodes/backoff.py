"""How long a node is passed over for an artifact that failed to start on it."""

from datetime import timedelta

LONGEST_WAIT = timedelta(minutes=5)
FORGOTTEN_AFTER = timedelta(hours=1)
_ENOUGH_DOUBLINGS = 16


def wait_after(failures: int) -> timedelta:
    """Return the wait before the next start there: it doubles with every failure in a row."""
    return min(timedelta(seconds=2 ** min(failures, _ENOUGH_DOUBLINGS)), LONGEST_WAIT)
