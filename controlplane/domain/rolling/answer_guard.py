"""Settings of the answer guard: an own set of prompts, asked of both before any traffic moves."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

from controlplane.domain.json_text import nests_deeper
from controlplane.domain.rolling.answer_schema import SchemaProblem, schema_check
from controlplane.domain.rolling.slo_guard import GuardAction
from controlplane.domain.storable import unstorable_text

MOST_PROMPTS = 100
MOST_PROMPTS_BYTES = 256 * 1024
MOST_LEVELS = 50
"""Lists and objects in each other."""
COMPLETION_TOKENS = 256
"""At most, where a body does not say."""
LIMITS = {"min_equal_percent": (0, 100), "max_length_difference_percent": (0, 1000)}
_FORCED: Mapping[str, Any] = {"temperature": 0, "seed": 0, "stream": False}
_LENGTHS = ("max_tokens", "max_completion_tokens")
Prompt = str | dict[str, Any]


class PromptProblem(ValueError):
    """The prompts are refused; the text says which, what is wrong and what to do."""


@dataclass(frozen=True, kw_only=True)
class AnswerGuardSettings:
    min_equal_percent: int
    max_length_difference_percent: int | None = None
    """Of all answers together, in characters."""
    require_valid_schema: bool = False
    action: str = GuardAction.PAUSE.value

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Self:
        """Return the settings in the shape of REST, without their prompts."""
        names = {each.name for each in fields(cls)}
        return cls(**{name: value for name, value in stored.items() if name in names})


def read_prompts(value: Any) -> list[Prompt]:
    """Return the prompts: texts, or bodies of chat completions. Raises PromptProblem."""
    if not isinstance(value, list) or not value:
        raise PromptProblem("Send a list of at least one text or chat body.")
    if len(value) > MOST_PROMPTS:
        raise PromptProblem(f"{len(value):,} prompts are more than {MOST_PROMPTS}. Send fewer.")
    for number, each in enumerate(value, start=1):
        if problem := _problem(each):
            raise PromptProblem(f"Prompt {number}: {problem}")
    size = len(json.dumps(value).encode())
    if size > MOST_PROMPTS_BYTES:
        raise PromptProblem(
            f"The prompts are {size:,} bytes as JSON, more than {MOST_PROMPTS_BYTES:,}. Shorten "
            "them."
        )
    return value


def chat_body(prompt: Prompt, *, model: str) -> dict[str, Any]:
    """Return what is sent: at temperature 0, with a fixed seed, whole."""
    body: dict[str, Any] = prompt if isinstance(prompt, dict) else {"messages": [_user(prompt)]}
    length = {} if any(name in body for name in _LENGTHS) else {"max_tokens": COMPLETION_TOKENS}
    return {**body, **length, **_FORCED, "model": model}


def schema_of(prompt: Prompt) -> Mapping[str, Any] | None:
    response_format = prompt.get("response_format") if isinstance(prompt, dict) else None
    if not isinstance(response_format, dict) or response_format.get("type") != "json_schema":
        return None
    json_schema = response_format.get("json_schema")
    schema = json_schema.get("schema") if isinstance(json_schema, dict) else None
    return schema if isinstance(schema, dict) else None


def prompt_lines(prompts: Iterable[Prompt]) -> str:
    """Return the prompts one a line; a body, and a text of several lines, is a line of JSON."""
    return "\n".join(map(_line, prompts))


def prompts_of_lines(text: str) -> list[Any]:
    """Return the prompts of such lines, unchecked."""
    return [_of_line(each.strip()) for each in text.splitlines() if each.strip()]


def shown(prompt: Prompt, *, characters: int = 200) -> str:
    if isinstance(prompt, str):
        return prompt[:characters]
    content = prompt["messages"][-1].get("content")
    return (content if isinstance(content, str) else json.dumps(content))[:characters]


def _problem(prompt: Any) -> str:
    """Return what is wrong with one; nothing where it can be asked."""
    if isinstance(prompt, str):
        is_good = prompt.strip() and unstorable_text(prompt) is None
        return "" if is_good else "it is empty, or holds a character that no text has."
    if not isinstance(prompt, dict):
        return f"it is {json.dumps(prompt)[:80]}. Send a text or an object with `messages`."
    if nests_deeper(prompt, MOST_LEVELS):
        return f"it nests deeper than {MOST_LEVELS} lists and objects."
    if (odd := unstorable_text(prompt)) is not None:
        return f"`{odd[:80]}` holds a character that no text has."
    return _body_problem(prompt)


def _body_problem(body: Mapping[str, Any]) -> str:
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return "`messages` is missing or empty. Send at least one message."
    if not all(isinstance(each, dict) for each in messages):
        return "each of `messages` is an object with `role` and `content`."
    if body.get("stream") not in (None, False) or body.get("n") not in (None, 1):
        return "answers are compared whole and one by one: leave `stream` and `n` out."
    try:
        schema_check(schema_of(body) or {})  # type: ignore[arg-type]
    except SchemaProblem as problem:
        return f"`response_format.json_schema.schema` cannot be held to: {problem}"
    return ""


def _user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def _line(prompt: Prompt) -> str:
    if isinstance(prompt, dict):
        return json.dumps(prompt, ensure_ascii=False)
    is_plain = prompt.splitlines() == [prompt.strip()] and not prompt.startswith("{")
    return prompt if is_plain else json.dumps({"messages": [_user(prompt)]}, ensure_ascii=False)


def _of_line(line: str) -> Any:
    if not line.startswith("{"):
        return line
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return line
