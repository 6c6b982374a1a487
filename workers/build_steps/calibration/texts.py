"""One row of a data set as tokens: a text as it stands, a conversation through the template."""

from collections.abc import Mapping, Sequence
from typing import Any

from jinja2 import TemplateError

from controlplane.domain.calibration_rows import (
    CONVERSATIONS,
    KNOWN_BY,
    PAIRS,
    TEXT,
    OddPair,
    Pair,
    pair_of,
)
from controlplane.domain.failures.registry import calibration
from workers.build_steps.calibration import failures
from workers.build_steps.failures import StepFailure

_LETTERS_PER_TOKEN = 32
"""More than any tokenizer's average: what lies beyond needs no tokenizing to be cut off."""


class Texts:
    """Finds the column once, then turns each row into tokens."""

    def __init__(self, name: str, tokenizer: Any, *, known_column: str | None) -> None:
        self._name, self._tokenizer = name, tokenizer
        self._column = known_column

    @property
    def column(self) -> str:
        return self._column or TEXT

    def tokens(self, number: int, row: Mapping[str, Any], max_length: int) -> list[int]:
        """Return the row's tokens, at least one more than fit where it is too long."""
        column = self._find_column(row)
        if column in PAIRS:
            return self._of_pair(number, self._pair(number, row, column), max_length)
        content = row.get(column)
        if not content:
            return []
        if column in CONVERSATIONS:
            return self._of_text(self._conversation(number, content), max_length, special=False)
        if not isinstance(content, str) or not content.strip():
            return []
        return self._of_text(content, max_length, special=True)

    def _find_column(self, row: Mapping[str, Any]) -> str:
        if self._column is None or self._column not in row:
            column = next((each for each in KNOWN_BY if each in row), None)
            if column is None:
                raise failures.no_column(self._name, sorted(row))
            self._column = column
        if self._column in CONVERSATIONS and not self._tokenizer.chat_template:
            raise StepFailure.of(calibration.NO_TEMPLATE, name=self._name, column=self._column)
        return self._column

    def _pair(self, number: int, row: Mapping[str, Any], column: str) -> Pair:
        try:
            return pair_of(row, column)
        except OddPair as error:
            raise StepFailure.of(
                calibration.PAIR, name=self._name, row=number, reason=str(error)
            ) from error

    def _of_pair(self, number: int, pair: Pair, max_length: int) -> list[int]:
        """Return a pair's tokens: a conversation, or one text where the model knows no template."""
        if pair.is_empty:
            return []
        if self._tokenizer.chat_template:
            return self._of_text(self._conversation(number, pair.turns), max_length, special=False)
        if not pair.is_text:
            raise StepFailure.of(calibration.NO_TEMPLATE, name=self._name, column=self.column)
        return self._of_text(pair.text, max_length, special=True)

    def _conversation(self, number: int, messages: Any) -> str:
        try:
            text: str = self._tokenizer.apply_chat_template(chat_turns(messages), tokenize=False)
        except (TemplateError, TypeError, ValueError, KeyError, AttributeError) as error:
            reason = str(error) or type(error).__name__
            raise StepFailure.of(
                calibration.TEMPLATE, name=self._name, row=number, reason=reason
            ) from error
        return text

    def _of_text(self, text: str, max_length: int, *, special: bool) -> list[int]:
        encoded = self._tokenizer(
            text[: max_length * _LETTERS_PER_TOKEN],
            truncation=True,
            max_length=max_length + 1,
            add_special_tokens=special,
        )
        tokens: list[int] = encoded["input_ids"]
        return tokens


def chat_turns(messages: Any) -> Sequence[Any]:
    """Return the turns in the words of the OpenAI API, which some sets name otherwise."""
    if not isinstance(messages, list):
        raise TypeError(f"`messages` is a {type(messages).__name__}, not a list")
    return [
        {"role": _ROLES.get(each["from"], each["from"]), "content": each["value"]}
        if isinstance(each, Mapping) and "from" in each and "value" in each
        else each
        for each in messages
    ]


_ROLES = {"human": "user", "gpt": "assistant"}
