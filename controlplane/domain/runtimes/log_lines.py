"""The lines of an engine's log without what its processes write before each of them."""

import re

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_PROCESS = re.compile(r"^(?:\([^()\n]*\bpid=[^()\n]*\) ?)+", re.MULTILINE)
"""`(EngineCore_DP0 pid=7) `, `(RayWorkerWrapper pid=7, ip=10.0.0.2) `."""
_PLACE = r"\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? \[?[\w./]+:\d+\]? ?"
_ERROR = re.compile(rf"^(?:ERROR|CRITICAL) {_PLACE}", re.MULTILINE)
"""`ERROR 11-20 10:00:00 [core.py:708] `, before every line of a traceback too."""
_NEWS = re.compile(rf"^(?:INFO|DEBUG) {_PLACE}.*$", re.MULTILINE)
_RANK = re.compile(r"^\[rank\d+\]: ?", re.MULTILINE)


def bare(log: str) -> str:
    """Return the log as one process would have printed it, without what it told as mere news.

    Sentences of several lines are read from it: every line of them had its own prefix.
    """
    for prefix in (_COLOUR, _PROCESS, _ERROR, _RANK, _NEWS):
        log = prefix.sub("", log)
    return log
