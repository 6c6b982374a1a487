"""Sorts an answer's text into content, reasoning and tool calls as it comes."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from enum import Enum

from workers.engine.server.delta import Delta
from workers.engine.server.tools.calls import JsonCalls, read_python_calls
from workers.engine.server.tools.dialects import Dialect

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
        holds_to_names: bool = False,
        thinks: bool = False,
        is_thinking: bool = False,
        is_parallel: bool = True,
    ) -> None:
        self._dialect = dialect or Dialect(name="none")
        self._names = tool_names
        self._holds_to_names = holds_to_names or bool(self._dialect.first_characters)
        self._thinks = thinks
        self._is_parallel = is_parallel
        self._state = State.THINKING if is_thinking else State.CONTENT
        self._pending = self._space = self._call_text = ""
        self._drops_space = is_thinking
        self._has_content = False
        self._calls = 0
        self._json_calls = JsonCalls(first_index=0)

    def push(self, text: str) -> Delta:
        """Take a piece; give back what can no longer be part of a marker."""
        self._pending += text
        delta = Delta()
        while True:
            before, marker, self._pending = cut(self._pending, self._markers)
            delta += self._read(before)
            if marker is None:
                return self._only_wanted(delta)
            delta += self._switch(marker)

    def finish(self) -> Delta:
        delta = self._read(self._pending)
        if self._state is State.CALLING:
            delta += self._end_call()
        if self._has_content and not self._calls:
            delta += Delta(content=self._space)
        return self._only_wanted(delta)

    def _only_wanted(self, delta: Delta) -> Delta:
        if self._is_parallel:
            return delta
        return replace(delta, calls=tuple(one for one in delta.calls if one.index == 0))

    @property
    def _markers(self) -> Sequence[str]:
        if self._state is State.THINKING:
            return (THINK_END,)
        is_open = self._thinks and self._state is State.CONTENT
        return (*self._dialect.markers, THINK) if is_open else self._dialect.markers

    def _read(self, text: str) -> Delta:
        if self._state is State.CONTENT and self._begins_with_call(text):
            text, self._space = self._space + text, ""
            self._begin_call()
        if self._state is State.CALLING:
            self._call_text += text
            return Delta() if self._is_python else self._json_calls.push(text)
        words = self._words(text)
        if self._state is State.THINKING:
            return Delta(reasoning=words)
        self._has_content = self._has_content or bool(words)
        return Delta(content=words)

    def _words(self, text: str) -> str:
        """Blanks wait until something follows: those around calls and thoughts are no content."""
        text = self._space + text
        words = text.rstrip()
        self._space = text[len(words) :]
        if words and self._drops_space:
            words, self._drops_space = words.lstrip(), False
        return words

    @property
    def _is_python(self) -> bool:
        return self._dialect.is_python and self._call_text.lstrip().startswith("[")

    def _begins_with_call(self, text: str) -> bool:
        opening = "" if self._has_content else self._dialect.first_characters
        return (self._space + text).lstrip()[:1] in tuple(opening)

    def _begin_call(self) -> None:
        names = self._names if self._holds_to_names else None
        self._json_calls = JsonCalls(first_index=self._calls, names=names)
        self._state, self._call_text = State.CALLING, ""

    def _end_call(self, closed_by: str = "") -> Delta:
        self._state = State.CONTENT
        delta, count = Delta(), self._json_calls.count
        if self._is_python:
            delta = read_python_calls(self._call_text, first_index=self._calls, names=self._names)
            count = len(delta.calls)
        self._calls += count
        if count or not self._call_text.strip():
            return delta
        self._has_content = True
        return Delta(content=self._dialect.opens + self._call_text + closed_by)

    def _switch(self, marker: str) -> Delta:
        if marker in (THINK, THINK_END):
            self._state = State.THINKING if marker == THINK else State.CONTENT
            self._space, self._drops_space = "", True
            return Delta()
        ended = Delta()
        if marker in (self._dialect.opens, self._dialect.closes):
            if self._state is State.CALLING:
                is_open = marker == self._dialect.opens
                ended = self._end_call("" if is_open else marker)
            if marker == self._dialect.opens:
                self._begin_call()
        return ended


def cut(text: str, markers: Sequence[str]) -> tuple[str, str | None, str]:
    """Give back what is before the first marker, the marker, and what follows.

    Without a marker, what follows is the longest end of the text with which one could begin.
    """
    positions = [(at, -len(marker), marker) for marker in markers if (at := text.find(marker)) >= 0]
    if positions:
        at, _, marker = min(positions)
        return text[:at], marker, text[at + len(marker) :]
    longest = max(map(len, markers), default=1) - 1
    for at in range(max(0, len(text) - longest), len(text)):
        if any(marker.startswith(text[at:]) for marker in markers):
            return text[:at], None, text[at:]
    return text, None, ""
