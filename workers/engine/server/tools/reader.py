"""Sorts an answer's text into content, reasoning and tool calls as it comes."""

from collections.abc import Collection, Sequence
from enum import Enum

from workers.engine.server.delta import CallPiece, Delta
from workers.engine.server.tools.calls import JsonCalls
from workers.engine.server.tools.dialects import Dialect, Opening
from workers.engine.server.tools.python_calls import read_python_calls

THINK, THINK_END = "<think>", "</think>"


class State(Enum):
    """Which part of the message the text belongs to."""

    CONTENT = "content"
    THINKING = "thinking"
    CALLING = "calling"


class ChatReader:
    """Reads one answer; what looks like a call and is none stays content."""

    def __init__(
        self,
        dialect: Dialect | None,
        *,
        tool_names: Collection[str] = (),
        thinks: bool = False,
        is_thinking: bool = False,
        is_parallel: bool = True,
    ) -> None:
        self._dialect = dialect
        self._names = tool_names
        self._thinks = thinks
        self._is_parallel = is_parallel
        self._state = State.THINKING if is_thinking else State.CONTENT
        self._buffer = self._space = ""
        self._drops_space = is_thinking
        self._has_content = False
        self._calls = 0
        self._call_text = ""
        self._json_calls = JsonCalls(first_index=0)

    def push(self, text: str) -> Delta:
        """Take a piece; give back what can no longer be part of a marker."""
        content, reasoning, calls = "", "", list[CallPiece]()
        self._buffer += text
        marker: str | None = ""
        while marker is not None:
            before, marker, self._buffer = cut(self._buffer, self._markers)
            added = self._read(before)
            ended = self._switch(marker) if marker else Delta()
            for delta in (added, ended):
                content += delta.content
                reasoning += delta.reasoning
                calls += delta.calls
        return Delta(content=content, reasoning=reasoning, calls=tuple(calls))

    def finish(self) -> Delta:
        """Give back what was held."""
        held, self._buffer = self._buffer, ""
        added = self._read(held)
        ended = self._end_call() if self._state is State.CALLING else Delta()
        space = self._space if self._has_content and not self._calls else ""
        return Delta(
            content=added.content + ended.content + space,
            reasoning=added.reasoning,
            calls=added.calls + ended.calls,
        )

    @property
    def _markers(self) -> Sequence[str]:
        if self._state is State.THINKING:
            return (THINK_END,)
        markers = self._dialect.markers if self._dialect else ()
        return (*markers, THINK) if self._thinks and self._state is State.CONTENT else markers

    def _read(self, text: str) -> Delta:
        if self._state is State.CALLING:
            return self._read_call(text)
        if self._state is State.THINKING:
            return self._read_thought(text)
        if self._begins_with_call(text):
            text, self._space = self._space + text, ""
            self._begin_call()
            return self._read_call(text)
        return self._read_content(text)

    def _read_content(self, text: str) -> Delta:
        """Blanks wait until something follows: those around calls and thoughts are no content."""
        text = self._space + text
        body = text.rstrip()
        self._space = text[len(body) :]
        if body and self._drops_space:
            body, self._drops_space = body.lstrip(), False
        self._has_content = self._has_content or bool(body)
        return Delta(content=body)

    def _read_thought(self, text: str) -> Delta:
        text = self._space + text
        body = text.rstrip()
        self._space = text[len(body) :]
        if body and self._drops_space:
            body, self._drops_space = body.lstrip(), False
        return Delta(reasoning=body)

    def _read_call(self, text: str) -> Delta:
        self._call_text += text
        if self._is_python:
            return Delta()
        return self._only_wanted(tuple(self._json_calls.push(text)))

    def _only_wanted(self, calls: Sequence[CallPiece]) -> Delta:
        return Delta(calls=tuple(one for one in calls if self._is_parallel or one.index == 0))

    @property
    def _is_python(self) -> bool:
        is_python = self._dialect is not None and self._dialect.is_python
        return is_python and self._call_text.lstrip().startswith("[")

    def _begins_with_call(self, text: str) -> bool:
        dialect = self._dialect
        if dialect is None or dialect.opening is not Opening.BRACE or self._has_content:
            return False
        return (self._space + text).lstrip().startswith(("{", "[") if dialect.is_python else "{")

    def _begin_call(self) -> None:
        is_marked = self._dialect is not None and self._dialect.opening is Opening.MARKER
        self._json_calls = JsonCalls(
            first_index=self._calls, names=None if is_marked else self._names
        )
        self._state, self._call_text = State.CALLING, ""

    def _end_call(self) -> Delta:
        self._state = State.CONTENT
        if self._is_python:
            calls = read_python_calls(self._call_text, first_index=self._calls)
            self._calls += len(calls)
            return self._only_wanted(calls) if calls else Delta(content=self._call_text)
        self._calls += self._json_calls.count
        if self._json_calls.count or not self._call_text.strip():
            return Delta()
        self._has_content = True
        return Delta(content=(self._dialect.opens if self._dialect else "") + self._call_text)

    def _switch(self, marker: str) -> Delta:
        """Move to where a marker leads."""
        if self._state is State.THINKING or marker == THINK:
            is_end = self._state is State.THINKING
            self._state = State.CONTENT if is_end else State.THINKING
            self._space, self._drops_space = "", True
            return Delta()
        dialect = self._dialect
        ended = Delta()
        if dialect and marker in (dialect.opens, dialect.closes):
            if self._state is State.CALLING:
                ended = self._end_call()
            if marker == dialect.opens:
                self._begin_call()
        return ended


def cut(text: str, markers: Sequence[str]) -> tuple[str, str | None, str]:
    """Give back what is before the first marker, the marker, and what follows.

    Without a marker, what follows is the longest end of the text with which one could begin.
    """
    found = [(at, marker) for marker in markers if (at := text.find(marker)) >= 0]
    if found:
        at, marker = min(found, key=lambda match: (match[0], -len(match[1])))
        return text[:at], marker, text[at + len(marker) :]
    longest = max((len(marker) - 1 for marker in markers), default=0)
    for length in range(min(longest, len(text)), 0, -1):
        if any(marker.startswith(text[-length:]) for marker in markers):
            return text[:-length], None, text[-length:]
    return text, None, ""
