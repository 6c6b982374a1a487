"""A log -> the exception that ended the process, and the source file that raised it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_LONGEST_MESSAGE = 400
_MOST_LINES = 6
_EXCEPTION = re.compile(
    r"^[|+\s]{0,8}(?P<kind>(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Exit|Failure|Timeout))"
    r"(?::[ \t]*(?P<message>\S[^\n]*(?:\n(?!\s*(?:File \"|Traceback|During handling|The above|$))"
    rf"[^\n]*){{0,{_MOST_LINES}}}))?$",
    re.MULTILINE,
)
_FRAME = re.compile(r"^[|\s]*File \"(?P<path>[^\"\n]+)\", line \d+", re.MULTILINE)
_TRACEBACK = "Traceback (most recent call last)"
_NEXT_LINE = re.compile(
    r"\n(?=(?:\[?(?:INFO|WARNING|ERROR|DEBUG|rank\d)|\d{4}-\d\d-\d\d|\[\w+\]|[\w.]+Error\b)).*\Z",
    re.DOTALL,
)
"""Where a message of several lines ends, and something else is told."""
_ECHOES = re.compile(
    r"Engine core initialization failed|EngineDeadError|WorkerProc initialization failed|"
    r"EngineCore encountered an issue|Executor worker returned error|CppExecutorError|"
    r"Executor worker died|cancelled|ChildFailedError|Leader process exited"
)
"""What passes on that another process has ended."""


@dataclass(frozen=True, kw_only=True)
class LastException:
    """What was raised, in whose words, and where."""

    kind: str
    """The class without its module: `ValueError`."""
    message: str
    paths: tuple[str, ...]
    """The source files of its traceback, the one that raised first."""

    @property
    def said(self) -> str:
        """Return class and message as Python prints them, on one line."""
        message = " ".join(self.message.split())
        return f"{self.kind}: {message}" if message else self.kind


def last_exception(log: str) -> LastException | None:
    """Return the exception that stands last and is no echo of another, None where there is none."""
    for match in reversed(list(_EXCEPTION.finditer(log))):
        if not _ECHOES.search(match[0]):
            return _read(log, match)
    return None


def _read(log: str, match: re.Match[str]) -> LastException:
    message = _NEXT_LINE.sub("", match["message"] or "")[:_LONGEST_MESSAGE].strip()
    start = log.rfind(_TRACEBACK, 0, match.start())
    paths = tuple(_innermost_first(log[start : match.start()] if start >= 0 else ""))
    return LastException(kind=match["kind"].rpartition(".")[2], message=message, paths=paths)


def _innermost_first(trace: str) -> Iterator[str]:
    yield from reversed([frame["path"] for frame in _FRAME.finditer(trace)])
