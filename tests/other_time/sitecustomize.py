"""Found by every Python below `tests.hygiene`, for what libfaketime 0.9.10 gets wrong.

Python 3.11 sleeps until a moment of the monotonic clock; the library moves that moment back by the
shift of the other clock, and the kernel refuses it. And files are dated by the kernel, whose call
for their dates the library does not know: a file that was just written would be a year old.
"""

import os
import re
import select
import time
from collections.abc import Callable
from typing import Any

_SECONDS_A_DAY = 86_400
_shift = re.fullmatch(r"\+(\d+)d", os.environ.get("FAKETIME", ""))
SHIFT_SECONDS = int(_shift[1]) * _SECONDS_A_DAY if _shift else 0
_DATES = ("st_atime", "st_mtime", "st_ctime")


def sleep(seconds: float) -> None:
    """Return so many seconds later."""
    select.select((), (), (), seconds)


def _shifted(look: Callable[..., os.stat_result]) -> Callable[..., os.stat_result]:
    def stat(*place: Any, **how: Any) -> os.stat_result:
        found = look(*place, **how)
        more = {name: getattr(found, name) for name in dir(found) if name.startswith("st_")}
        for name in _DATES:
            more[name] += SHIFT_SECONDS
            more[f"{name}_ns"] += SHIFT_SECONDS * 1_000_000_000
        return os.stat_result((*found[:7], *(int(more[name]) for name in _DATES)), more)

    return stat


def _unshifted(date: Callable[..., None]) -> Callable[..., None]:
    def utime(path: Any, times: Any = None, *, ns: Any = None, **how: Any) -> None:
        if ns is not None:
            date(path, ns=tuple(each - SHIFT_SECONDS * 1_000_000_000 for each in ns), **how)
        else:  # where it is told no moment, the library fills in its own
            moments = times or (time.time(), time.time())
            date(path, times=tuple(each - SHIFT_SECONDS for each in moments), **how)

    return utime


time.sleep = sleep
# Python's own imports look by other names: they compare a source's date with what they noted.
os.stat, os.lstat, os.fstat = _shifted(os.stat), _shifted(os.lstat), _shifted(os.fstat)
os.utime = _unshifted(os.utime)
