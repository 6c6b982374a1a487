"""The `input` of `/v1/responses` as the messages of a chat."""

from collections.abc import Callable, Mapping
from typing import Any

from workers.gateway.responses.refused import unsupported, wrong

Message = dict[str, Any]
_ROLES = frozenset({"user", "assistant", "system", "developer"})
_TEXT_PARTS = frozenset({"input_text", "output_text", "text"})


def messages_of(data: Mapping[str, Any]) -> list[Message]:
    """Return the conversation, its instructions first. Raises Refused."""
    messages: list[Message] = []
    instructions = data.get("instructions")
    if isinstance(instructions, str):
        messages.append({"role": "system", "content": instructions})
    elif instructions is not None:
        raise wrong("instructions", instructions, "Send a text")
    given = data.get("input")
    if isinstance(given, str):
        return [*messages, {"role": "user", "content": given}]
    if not isinstance(given, list) or not given:
        raise wrong("input", given, "Send a text, or a list of items")
    for at, item in enumerate(given):
        _add(messages, item, f"input[{at}]")
    return messages


def _add(messages: list[Message], item: object, place: str) -> None:
    if not isinstance(item, dict):
        raise wrong(place, item, "Send an object with `role` and `content`, or with a `type`")
    kind = item.get("type") or "message"
    add = _KINDS.get(kind) if isinstance(kind, str) else None
    if add is None:
        raise unsupported(
            f"{place}.type",
            f"`{place}.type` is `{kind}`, which this server neither runs nor keeps. Send "
            "`message`, `function_call`, `function_call_output` or `reasoning` items.",
        )
    add(messages, item, place)


def _add_message(messages: list[Message], item: Mapping[str, Any], place: str) -> None:
    role = item.get("role")
    if role not in _ROLES:
        raise wrong(f"{place}.role", role, "Send `user`, `assistant`, `system` or `developer`")
    messages.append({"role": role, "content": _content(item.get("content"), f"{place}.content")})


def _add_call(messages: list[Message], item: Mapping[str, Any], place: str) -> None:
    function = {
        "name": _text(item, "name", place), "arguments": _text(item, "arguments", place),
    }  # fmt: skip
    call = {"id": _text(item, "call_id", place), "type": "function", "function": function}
    if not messages or messages[-1]["role"] != "assistant":
        messages.append({"role": "assistant"})
    messages[-1].setdefault("tool_calls", []).append(call)


def _add_output(messages: list[Message], item: Mapping[str, Any], place: str) -> None:
    content = _content(item.get("output"), f"{place}.output")
    id = _text(item, "call_id", place)
    messages.append({"role": "tool", "tool_call_id": id, "content": content})


def _pass_over(messages: list[Message], item: Mapping[str, Any], place: str) -> None:
    """Add nothing: templates leave out what a model thought before its last answer, too."""


_KINDS: Mapping[str, Callable[[list[Message], Mapping[str, Any], str], None]] = {
    "message": _add_message,
    "function_call": _add_call,
    "function_call_output": _add_output,
    "reasoning": _pass_over,
}


def _content(content: object, place: str) -> str | list[dict[str, Any]]:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise wrong(place, content, "Send a text, or a list of parts")
    return [_part(part, f"{place}[{at}]") for at, part in enumerate(content)]


def _part(part: object, place: str) -> dict[str, Any]:
    if not isinstance(part, dict):
        raise wrong(place, part, "Send an object with a `type`")
    kind = part.get("type")
    if kind in _TEXT_PARTS:
        return {"type": "text", "text": _text(part, "text", place)}
    if kind == "refusal":
        return {"type": "text", "text": _text(part, "refusal", place)}
    if kind == "input_image" and isinstance(part.get("image_url"), str):
        image = {"url": part["image_url"], "detail": part.get("detail") or "auto"}
        return {"type": "image_url", "image_url": image}
    raise unsupported(
        f"{place}.type",
        f"`{place}.type` is `{kind}`. Send `input_text`, or `input_image` with an `image_url`; "
        "no files are kept here.",
    )


def _text(item: Mapping[str, Any], name: str, place: str) -> str:
    value = item.get(name)
    if not isinstance(value, str):
        raise wrong(f"{place}.{name}", value, "Send a text")
    return value
