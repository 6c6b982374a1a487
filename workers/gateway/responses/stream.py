"""The events of a streamed chat as those of `/v1/responses`."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from workers.gateway.responses import envelope
from workers.gateway.responses.envelope import Envelope, Item, new_id

_DATA = b"data:"
_DONE = b"[DONE]"
_DELTA_OF = {
    "message": "response.output_text",
    "reasoning": "response.reasoning_text",
    "function_call": "response.function_call_arguments",
}


@dataclass(slots=True)
class _Open:
    kind: str
    id: str
    name: str = ""
    call_id: str = ""
    index: object = None
    """Of a call, among those of the chat."""
    text: str = ""

    def item(self, status: str) -> Item:
        if self.kind == "function_call":
            return envelope.call(self.id, self.call_id, self.name, self.text, status)
        make = envelope.message if self.kind == "message" else envelope.reasoning
        return make(self.id, self.text, status)

    @property
    def place(self) -> dict[str, Any]:
        return {} if self.kind == "function_call" else {"content_index": 0}


class ResponseEvents:
    """Feed it whole events of a chat; it returns those of the response, up to `[DONE]`."""

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        self._envelope = Envelope(parameters)
        self._output: list[Item] = []
        self._open: _Open | None = None
        self._number = 0
        self._model: object = None
        self._usage: object = None
        self._reason: object = None
        self._is_over = False

    def feed(self, events: bytes) -> bytes:
        return b"".join(event for line in events.splitlines() for event in self._line(line.strip()))

    def _line(self, line: bytes) -> Iterator[bytes]:
        if not line.startswith(_DATA) or self._is_over:
            return
        text = line[len(_DATA) :].strip()
        if text == _DONE:
            yield from self._end()
            return
        try:
            chunk = json.loads(text)
        except (ValueError, RecursionError):
            return
        if isinstance(chunk, dict):
            yield from self._chunk(chunk)

    def _chunk(self, chunk: Mapping[str, Any]) -> Iterator[bytes]:
        if isinstance(error := chunk.get("error"), dict):
            yield from self._fail(error)
            return
        self._model = chunk.get("model") or self._model
        self._usage = chunk.get("usage") or self._usage
        if self._number == 0:
            started = self._response("in_progress")
            yield self._event("response.created", response=started)
            yield self._event("response.in_progress", response=started)
        for choice in chunk.get("choices") or ():
            self._reason = choice.get("finish_reason") or self._reason
            yield from self._delta(choice.get("delta") or {})

    def _delta(self, delta: Mapping[str, Any]) -> Iterator[bytes]:
        if thought := delta.get("reasoning_content") or delta.get("reasoning"):
            yield from self._add("reasoning", thought, lambda: _Open("reasoning", new_id("rs")))
        if content := delta.get("content"):
            yield from self._add("message", content, lambda: _Open("message", new_id("msg")))
        for piece in delta.get("tool_calls") or ():
            yield from self._call(piece)

    def _call(self, piece: Mapping[str, Any]) -> Iterator[bytes]:
        function = piece.get("function") or {}
        index = piece.get("index", 0)
        yield from self._add(
            "function_call",
            function.get("arguments") or "",
            lambda: _Open(
                "function_call", new_id("fc"), function.get("name") or "",
                piece.get("id") or new_id("call"), index,
            ),
            index,
        )  # fmt: skip

    def _add(
        self, kind: str, text: str, make: Callable[[], _Open], index: object = None
    ) -> Iterator[bytes]:
        """Write on where the item is the same, else end it and begin another."""
        opened = self._open
        if opened is None or opened.kind != kind or opened.index != index:
            yield from self._close("completed")
            opened = self._open = make()
            yield from self._begin(opened)
        if text:
            opened.text += text
            name = f"{_DELTA_OF[kind]}.delta"
            more: dict[str, Any] = {"logprobs": []} if kind == "message" else {}
            yield self._event(name, **self._at(opened), delta=text, **more)

    def _begin(self, opened: _Open) -> Iterator[bytes]:
        item = opened.item("in_progress")
        if opened.kind != "function_call":
            item = {**item, "content": []}
        at = len(self._output)
        yield self._event("response.output_item.added", output_index=at, item=item)
        if opened.kind == "message":
            part = envelope.text_part("")
            yield self._event("response.content_part.added", **self._at(opened), part=part)

    def _close(self, status: str) -> Iterator[bytes]:
        if (opened := self._open) is None:
            return
        self._open = None
        done = f"{_DELTA_OF[opened.kind]}.done"
        at = self._at(opened)
        if opened.kind == "function_call":
            yield self._event(done, **at, name=opened.name, arguments=opened.text)
        elif opened.kind == "message":
            yield self._event(done, **at, text=opened.text, logprobs=[])
            part = envelope.text_part(opened.text)
            yield self._event("response.content_part.done", **at, part=part)
        else:
            yield self._event(done, **at, text=opened.text)
        item = opened.item(status)
        number = len(self._output)
        self._output.append(item)
        yield self._event("response.output_item.done", output_index=number, item=item)

    def _end(self) -> Iterator[bytes]:
        status = envelope.status_of(self._reason)
        if self._open is None and not self._output:
            yield from self._add("message", "", lambda: _Open("message", new_id("msg")))
        yield from self._close(status)
        self._is_over = True
        yield self._event(f"response.{status}", response=self._response(status))

    def _fail(self, error: Mapping[str, Any]) -> Iterator[bytes]:
        self._is_over = True
        yield self._event(
            "error", code=error.get("code"), message=error.get("message") or "The engine failed.",
            param=error.get("param"),
        )  # fmt: skip

    def _at(self, opened: _Open) -> dict[str, Any]:
        return {"item_id": opened.id, "output_index": len(self._output), **opened.place}

    def _response(self, status: str) -> dict[str, Any]:
        usage = None if status == "in_progress" else self._usage
        return self._envelope.response(
            status, output=list(self._output), model=self._model, usage=usage, reason=self._reason
        )

    def _event(self, kind: str, **fields: Any) -> bytes:
        data = {"type": kind, "sequence_number": self._number, **fields}
        self._number += 1
        return b"event: %b\ndata: %b\n\n" % (kind.encode(), json.dumps(data).encode())
