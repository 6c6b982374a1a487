"""Found by every Python below `tests.hygiene`, for what libfaketime 0.9.10 gets wrong.

Python 3.11 sleeps until a moment of the monotonic clock; the library moves that moment back by the
shift of the other clock, and the kernel refuses it.
"""

import select
import time


def sleep(seconds: float) -> None:
    """Return so many seconds later."""
    select.select((), (), (), seconds)


time.sleep = sleep
