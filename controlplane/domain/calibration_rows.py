"""Rows of calibration data that come as a question and its answer, as two columns or three."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

TEXT = "text"
CONVERSATIONS = ("messages", "conversations")


@dataclass(frozen=True, kw_only=True)
class PairForm:
    question: str
    answers: tuple[str, ...]
    """Any of them."""
    context: str | None = None
    """What the question is about, which most rows leave empty."""
    joint: str = ""
    """What stands between the two where there is no chat template."""


PAIRS: Mapping[str, PairForm] = MappingProxyType(
    {
        each.question: each
        for each in (
            PairForm(question="prompt", answers=("completion", "response")),
            PairForm(
                question="instruction",
                answers=("output", "response"),
                context="input",
                joint="\n\n",
            ),
        )
    }
)
"""By the column that a form is known by."""
KNOWN_BY: tuple[str, ...] = (*CONVERSATIONS, TEXT, *PAIRS)
"""The columns that a row is known by, in the order in which they are looked for."""
FORMS_IN_WORDS = "`text`, `messages`, `prompt` with `completion`, or `instruction` with `output`"


class OddPair(ValueError):
    """A row whose two halves do not make a pair; says what is wrong."""


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A question and its answer: texts, or turns of a conversation."""

    question: str | Sequence[Any]
    answered: str | Sequence[Any]
    joint: str

    @property
    def is_text(self) -> bool:
        return isinstance(self.question, str) and isinstance(self.answered, str)

    @property
    def is_empty(self) -> bool:
        return any(not (each.strip() if isinstance(each, str) else each)
                   for each in (self.question, self.answered))  # fmt: skip

    @property
    def turns(self) -> list[Any]:
        return [*_turns(self.question, "user"), *_turns(self.answered, "assistant")]

    @property
    def text(self) -> str:
        """Both texts as one, for a tokenizer without a chat template."""
        return f"{self.question}{self.joint}{self.answered}"


def columns_of(column: str) -> tuple[str, ...]:
    form = PAIRS.get(column)
    if form is None:
        return (column,)
    return (form.question, *([form.context] if form.context else []), *form.answers)


def read_columns() -> frozenset[str]:
    return frozenset(name for column in KNOWN_BY for name in columns_of(column))


def pair_of(row: Mapping[str, Any], column: str) -> Pair:
    """Return what a row asks and answers; raises OddPair."""
    form = PAIRS[column]
    answer = next((each for each in form.answers if each in row), None)
    if answer is None:
        raise OddPair(f"has `{form.question}` and no `{'` or `'.join(form.answers)}`")
    return Pair(question=_with_context(row, form), answered=_half(row, answer), joint=form.joint)


def _with_context(row: Mapping[str, Any], form: PairForm) -> str | Sequence[Any]:
    question = _half(row, form.question)
    context = _half(row, form.context) if form.context and form.context in row else ""
    if not context:
        return question
    if not (isinstance(question, str) and isinstance(context, str)):
        raise OddPair(f"has an `{form.context}` beside what is no text")
    return f"{question}\n\n{context}"


def _half(row: Mapping[str, Any], name: str) -> str | Sequence[Any]:
    value = row[name]
    if value is None:
        return ""
    if not isinstance(value, str | list):
        raise OddPair(f"has a `{name}` that is neither a text nor a list of turns")
    return value


def _turns(half: str | Sequence[Any], role: str) -> list[Any]:
    return [{"role": role, "content": half}] if isinstance(half, str) else list(half)
