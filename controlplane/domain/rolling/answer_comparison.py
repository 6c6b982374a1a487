"""Answers of two deployments to the same prompts, side by side, and what they come to."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from controlplane.domain.json_text import read_json
from controlplane.domain.rolling.answer_guard import AnswerGuardSettings, Prompt, schema_of
from controlplane.domain.rolling.answer_schema import schema_check

PROMPTS_NAMED = 10
_LONGEST_FAILURE = 300


class Outcome(StrEnum):
    PASSED = "passed"
    WORSE = "worse"
    UNANSWERED = "unanswered"
    """Nothing is known of one prompt at least."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    text: str = ""
    characters: int = 0
    """Of the whole text, of which the beginning may be kept alone."""
    failure: str = ""
    is_valid: bool | None = None
    """By the schema of its prompt; None where that names none."""


@dataclass(frozen=True, kw_only=True)
class Pair:
    number: int
    """From 1, as people count."""
    candidate: Answer
    current: Answer
    differs_at: int | None
    """The first character, counted from 0, in which they differ; None where they are equal."""

    @property
    def is_answered(self) -> bool:
        return not (self.candidate.failure or self.current.failure)

    @property
    def is_equal(self) -> bool:
        return self.is_answered and self.differs_at is None

    @property
    def longer_by(self) -> int:
        return self.candidate.characters - self.current.characters


@dataclass(frozen=True, kw_only=True)
class Verdict:
    outcome: Outcome
    sentence: str


def verdict(settings: AnswerGuardSettings, pairs: Sequence[Pair], *, prompts: int) -> Verdict:
    silent = [each for each in pairs if not each.is_answered]
    if silent or len(pairs) < prompts:
        return Verdict(outcome=Outcome.UNANSWERED, sentence=_unanswered(silent, pairs, prompts))
    broken = [
        each for each in (_too_few_equal(settings, pairs), _length(settings, pairs),
                          _invalid(settings, pairs)) if each
    ]  # fmt: skip
    if broken:
        return Verdict(outcome=Outcome.WORSE, sentence=" ".join(broken))
    return Verdict(outcome=Outcome.PASSED, sentence=f"{_equal_of(pairs)} are equal.")


def paired(number: int, candidate: Answer, current: Answer) -> Pair:
    at = first_difference(candidate.text, current.text)
    return Pair(number=number, candidate=candidate, current=current, differs_at=at)


def answer_of(output: str | None, prompt: Prompt) -> Answer:
    """Return the answer in a body of a chat completion, which is JSON as the model sent it."""
    try:
        message = read_json(output or "")["choices"][0]["message"]
        text = _text_and_calls(message)
    except (ValueError, LookupError, TypeError, AttributeError):
        reason = (output or "")[:_LONGEST_FAILURE]
        return Answer(failure=f"What came is no chat completion: {reason}")
    schema = schema_of(prompt)
    is_valid = None if schema is None else schema_check(schema)(text)
    return Answer(text=text, characters=len(text), is_valid=is_valid)


def unanswered(message: str) -> Answer:
    return Answer(failure=message[:_LONGEST_FAILURE] or "Nothing came.")


def first_difference(one: str, other: str) -> int | None:
    """Return the place of the first character that is not the same; None of equal texts."""
    if one == other:
        return None
    alike = (at for at, (here, there) in enumerate(zip(one, other, strict=False)) if here != there)
    return next(alike, min(len(one), len(other)))


def _text_and_calls(message: dict[str, Any]) -> str:
    """Return the text of a message with what it calls, as both engines may spell it."""
    content = message.get("content")
    calls = [_call(each["function"]) for each in message.get("tool_calls") or []]
    return "\n".join([*([content] if content else []), *calls])


def _call(function: dict[str, Any]) -> str:
    arguments = function["arguments"]
    try:
        arguments = json.dumps(read_json(arguments), sort_keys=True)
    except ValueError:
        arguments = str(arguments)
    return f"{function['name']}({arguments})"


def _unanswered(silent: Sequence[Pair], pairs: Sequence[Pair], prompts: int) -> str:
    names = [_who(each) for each in silent[:PROMPTS_NAMED]]
    left = prompts - len(pairs)
    rest = f" {left} of {prompts} prompts were not asked any more." if left else ""
    return f"Not answered: {'; '.join(names)}.{rest}" if names else f"Not answered.{rest}"


def _who(pair: Pair) -> str:
    sides = (("candidate", pair.candidate.failure), ("deployment in place", pair.current.failure))
    words = [f"by the {name} ({why.rstrip('.')})" for name, why in sides if why]
    return f"prompt {pair.number} {' and '.join(words)}"


def _too_few_equal(settings: AnswerGuardSettings, pairs: Sequence[Pair]) -> str:
    differ = [each.number for each in pairs if not each.is_equal]
    equal = len(pairs) - len(differ)
    if equal * 100 >= settings.min_equal_percent * len(pairs):
        return ""
    return (
        f"{_equal_of(pairs)} are equal, and {settings.min_equal_percent} % are to be. "
        f"Different: {_named(differ)}."
    )


def _length(settings: AnswerGuardSettings, pairs: Sequence[Pair]) -> str:
    limit = settings.max_length_difference_percent
    now, before = (
        sum(getattr(each, side).characters for each in pairs) for side in ("candidate", "current")
    )
    if limit is None or abs(now - before) * 100 <= limit * before:
        return ""
    worst = sorted(
        (each for each in pairs if each.longer_by), key=lambda each: -abs(each.longer_by)
    )
    return (
        f"Its answers have {now:,} characters together, those of the deployment in place "
        f"{before:,}: more than {limit} % apart. Furthest: "
        f"{_named(each.number for each in worst)}."
    )


def _invalid(settings: AnswerGuardSettings, pairs: Sequence[Pair]) -> str:
    numbers = [each.number for each in pairs if each.candidate.is_valid is False]
    if not settings.require_valid_schema or not numbers:
        return ""
    before = sum(each.current.is_valid is False for each in pairs)
    return (
        f"{len(numbers)} of its answers break their JSON schema, {before} of the deployment in "
        f"place. Invalid: {_named(numbers)}."
    )


def _equal_of(pairs: Sequence[Pair]) -> str:
    return f"{sum(each.is_equal for each in pairs)} of {len(pairs)} answers"


def _named(numbers: Iterable[int]) -> str:
    listed = list(numbers)
    more = f" and {len(listed) - PROMPTS_NAMED} more" if len(listed) > PROMPTS_NAMED else ""
    word = "prompt" if len(listed) == 1 else "prompts"
    return f"{word} {', '.join(map(str, listed[:PROMPTS_NAMED]))}{more}"
