"""A request as an engine was asked it, and its answer -> the two texts, as a model reads them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

_DATA = b"data:"
_TEXTS = ("reasoning_content", "reasoning", "content")
"""Of a message, in the order in which a model writes them."""


class PromptAndAnswer(NamedTuple):
    prompt: str
    answer: str


def prompt_and_answer_in(body: bytes, answer: bytes, *, is_stream: bool) -> PromptAndAnswer | None:
    """Return both texts; None of what is no text, has several answers, or cannot be read."""
    try:
        fields = json.loads(body)
        prompt = _prompt_text(fields)
        written = _streamed(answer) if is_stream else _whole(answer)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        return None
    return PromptAndAnswer(prompt, written) if prompt and written else None


def _prompt_text(fields: Mapping[str, Any]) -> str | None:
    prompt = fields.get("prompt")
    if isinstance(prompt, str):
        return prompt
    if prompt is not None or "messages" not in fields:
        return None  # numbers of tokens, or many prompts
    tools = fields.get("tools")
    shown = [json.dumps(tools, ensure_ascii=False)] if tools else []
    return "\n".join([*shown, *(_turn(each) for each in fields["messages"])])


def _turn(message: Mapping[str, Any]) -> str:
    return f"{message.get('role')}\n{''.join(_parts(message))}"


def _parts(message: Mapping[str, Any]) -> Iterator[str]:
    for name in _TEXTS:
        content = message.get(name)
        if isinstance(content, str):
            yield content
        elif isinstance(content, list):
            yield from (each["text"] for each in content if isinstance(each.get("text"), str))
    yield from _calls(message.get("tool_calls"))


def _calls(calls: Sequence[Mapping[str, Any]] | None) -> Iterator[str]:
    for each in calls or ():
        function = each.get("function") or {}
        yield from (str(function[name]) for name in ("name", "arguments") if function.get(name))


def _whole(answer: bytes) -> str:
    choice = json.loads(answer)["choices"][0]
    return "".join(_parts(choice["message"])) if "message" in choice else str(choice["text"])


def _streamed(answer: bytes) -> str:
    """Return what the events of the first choice add up to; one that was cut off is left out."""
    parts: list[str] = []
    for line in answer.splitlines():
        if line.startswith(_DATA) and line.endswith(b"}"):
            for choice in json.loads(line[len(_DATA) :]).get("choices") or ():
                if choice.get("index", 0) == 0:
                    parts += _added(choice)
    return "".join(parts)


def _added(choice: Mapping[str, Any]) -> Iterator[str]:
    if "delta" in choice:
        return _parts(choice["delta"])
    return iter([choice.get("text") or ""])
