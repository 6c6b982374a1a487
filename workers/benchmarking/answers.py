"""What an answer says while it comes: its first token, its counts, whether it is whole."""

import re

from controlplane.domain.benchmarks.timings import Timed

_TOKEN = re.compile(rb'"(?:content|reasoning_content|reasoning|text)"\s*:\s*"(?!")')
_PROMPT = re.compile(rb'"(?:prompt_tokens|input_tokens|total_tokens)"\s*:\s*(\d{1,12})')
_COMPLETION = re.compile(rb'"completion_tokens"\s*:\s*(\d{1,12})')
_DONE = b"[DONE]"
_COUNTED_HEADER = b"x-compute-tokens"
_TAIL_BYTES = 4096
"""Where `usage` and the end of a stream are looked for."""
_MESSAGE = re.compile(rb'"(?:message|detail|error)"\s*:\s*"((?:[^"\\]|\\.){1,160})')
_OK = 200


class Answer:
    """Takes one answer in as it comes, and writes its times and counts into `timed`."""

    __slots__ = ("_is_stream", "_tail", "status", "timed")

    def __init__(self, timed: Timed, *, is_stream: bool) -> None:
        self.timed = timed
        self.status = 0
        self._is_stream = is_stream
        self._tail = b""

    def take_header(self, name: bytes, value: bytes) -> None:
        """Take the count of an engine whose answer has no `usage`."""
        if name.lower() == _COUNTED_HEADER and value.isdigit():
            self.timed.prompt_tokens = int(value)

    def take(self, body: bytes, now: float) -> None:
        before, self._tail = self._tail, (self._tail + body)[-_TAIL_BYTES:]
        if self._is_stream and self.timed.first_at is None and _TOKEN.search(before + body):
            self.timed.first_at = now

    def end(self, now: float) -> None:
        timed, tail = self.timed, self._tail
        if self.status != _OK:
            timed.error = self._refusal()
        elif self._is_stream and _DONE not in tail:
            timed.error = "the stream broke off"
        if prompts := _PROMPT.findall(tail):
            timed.prompt_tokens = int(prompts[0])
        if completions := _COMPLETION.findall(tail):
            timed.completion_tokens = int(completions[-1])
        timed.ended_at = now

    def _refusal(self) -> str:
        message = _MESSAGE.search(self._tail)
        words = message[1].decode(errors="replace") if message else ""
        return f"HTTP {self.status}: {words}" if words else f"HTTP {self.status}"
