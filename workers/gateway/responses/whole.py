"""A whole answer to a chat as the answer of `/v1/responses`."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from workers.gateway.event_stream import EndlessEvent
from workers.gateway.responses import envelope
from workers.gateway.responses.envelope import Envelope, Item, new_id

LONGEST_ANSWER_BYTES = 64 * 1024 * 1024


class WholeResponse:
    """Feed it the engine's answer; it is said in other words when all of it is here."""

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        self._parameters = parameters
        self.chat = bytearray()

    def feed(self, data: bytes) -> None:
        """Take a piece. Raises EndlessEvent."""
        self.chat += data
        if len(self.chat) > LONGEST_ANSWER_BYTES:
            self.chat.clear()
            raise EndlessEvent

    def end(self) -> bytes:
        """Return the body for the client. Raises ValueError where the engine's has no such form."""
        return whole_response(self._parameters, bytes(self.chat))


def whole_response(parameters: Mapping[str, Any], chat: bytes) -> bytes:
    """Return the body for the client. Raises ValueError where the engine's has no such form."""
    try:
        data = json.loads(chat)
        choice = data["choices"][0]
        reason = choice.get("finish_reason")
        output = list(_items(choice["message"], envelope.status_of(reason)))
    except (KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"no answer to a chat: {error!r}") from error
    response = Envelope(parameters).response(
        envelope.status_of(reason),
        output=output,
        model=data.get("model"),
        usage=data.get("usage"),
        reason=reason,
    )
    return json.dumps(response).encode()


def _items(message: Mapping[str, Any], status: str) -> Iterator[Item]:
    thought = message.get("reasoning_content") or message.get("reasoning")
    if thought:
        yield envelope.reasoning(new_id("rs"), thought)
    calls = message.get("tool_calls") or ()
    if message.get("content") or not calls:
        yield envelope.message(new_id("msg"), message.get("content") or "", status)
    for each in calls:
        function = each["function"]
        call_id = each.get("id") or new_id("call")
        yield envelope.call(new_id("fc"), call_id, function["name"], function["arguments"], status)
