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
_OF_CPP = re.compile(
    r"(?:Assertion failed|what\(\)): +(?:\[TensorRT-LLM\]\[ERROR\] +)?(?:Assertion failed: +)?"
    r"(?P<message>[^\n(]{3,200}?)[ \t]*\((?P<path>/[^\s:()]+):\d+\)"
)
"""What a part in C++ asserts, with its file."""
_ASSERTED = re.compile(r"^\s*(?P<said>assert [^\n]+)", re.MULTILINE)
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
    kind: str
    """The class without its module: `ValueError`."""
    message: str
    paths: tuple[str, ...]
    """The source files of its traceback, the one that raised first."""

    @property
    def sentence(self) -> str:
        message = " ".join(self.message.split())
        return f"{self.kind}: {message}" if message else self.kind


def last_exception(log: str) -> LastException | None:
    """Return the exception that stands last and is no echo of another, None where there is none."""
    for match in reversed(list(_EXCEPTION.finditer(log))):
        if not _ECHOES.search(match[0]):
            return _read(log, match)
    return _of_cpp(log)


def _of_cpp(log: str) -> LastException | None:
    matches = list(_OF_CPP.finditer(log))
    if not matches:
        return None
    last = matches[-1]
    return LastException(kind="AssertionError", message=last["message"], paths=(last["path"],))


def _read(log: str, match: re.Match[str]) -> LastException:
    message = _NEXT_LINE.sub("", match["message"] or "")[:_LONGEST_MESSAGE].strip()
    start = log.rfind(_TRACEBACK, 0, match.start())
    trace = log[start : match.start()] if start >= 0 else ""
    return LastException(
        kind=match["kind"].rpartition(".")[2],
        message=message or _asserted(trace),
        paths=tuple(_innermost_first(trace)),
    )


def _asserted(trace: str) -> str:
    """Return the line that was asserted, where an exception says nothing itself."""
    lines = _ASSERTED.findall(trace)
    return lines[-1] if lines else ""


def _innermost_first(trace: str) -> Iterator[str]:
    yield from reversed([frame["path"] for frame in _FRAME.finditer(trace)])
