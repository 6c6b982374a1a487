"""What engines answer in most tests."""

from typing import Any

from tests.workers.gateway.stage.engine import Call

USAGE = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}


def answers(call: Call) -> None:
    """The script of an engine that answers everything at once."""
    call.answer({"id": "1", "choices": [{"message": {"content": "hi"}}], "usage": USAGE})


def piece(text: str) -> dict[str, Any]:
    """Return one chunk of a streamed chat completion."""
    delta = {"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": None}
    return {"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [delta]}


def streams(call: Call) -> None:
    """The script of an engine that streams three words, then usage when it was asked to."""
    call.begin_stream()
    for word in ("one", "two", "three"):
        call.event(piece(word))
    if call.json().get("stream_options", {}).get("include_usage"):
        call.event({"id": "c", "choices": [], "usage": USAGE})
    call.end_stream()


def endless(call: Call) -> None:
    """The script of an engine that streams a word and then for ever, until it is hung up on."""
    call.begin_stream()
    call.event(piece("on"))
    call.wait_for_hang_up()
