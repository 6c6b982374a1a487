"""Rows of a data set -> what a model read and what it answered, as token ids."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from jinja2 import TemplateError
from numpy.typing import NDArray

from controlplane.domain.calibration_rows import (
    CONVERSATIONS,
    KNOWN_BY,
    PAIRS,
    OddPair,
    Pair,
    pair_of,
)
from controlplane.domain.failures.registry import calibration
from workers.build_steps.calibration import failures
from workers.build_steps.calibration.dataset import OpenDataset
from workers.build_steps.calibration.texts import chat_turns
from workers.build_steps.failures import StepFailure

MOST_CONVERSATIONS = 2_000
"""Of a set; the first ones."""
MOST_TOKENS = 20_000_000
"""Of all prompts and answers, which lie in memory at once."""
LONGEST_PROMPT_TOKENS = 32_768
"""Of which the last count."""
LONGEST_ANSWER_TOKENS = 8_192
SHORTEST_ANSWER_TOKENS = 2
_ASSISTANT = "assistant"

Tokens = NDArray[np.int32]


@dataclass(frozen=True, kw_only=True)
class Exchange:
    prompt: Tokens
    answer: Tokens


class Exchanges:
    """Reads the conversations of a set; each answer of one is an exchange of its own."""

    def __init__(self, name: str, dataset: OpenDataset, tokenizer: Any) -> None:
        self._name, self._dataset, self._tokenizer = name, dataset, tokenizer
        self.conversations = 0

    def read(self) -> Iterator[Exchange]:
        """Yield what can be told apart into read and answered; raises StepFailure."""
        left = MOST_TOKENS
        for number, row in enumerate(islice(self._dataset.rows(), MOST_CONVERSATIONS), start=1):
            exchanges = [each for each in self._of(number, row) if _is_answered(each)]
            self.conversations += bool(exchanges)
            yield from exchanges
            left -= sum(len(each.prompt) + len(each.answer) for each in exchanges)
            if left < 0:
                return

    def _of(self, number: int, row: Mapping[str, Any]) -> Iterator[Exchange]:
        column = next((each for each in KNOWN_BY if each in row), None)
        if column in PAIRS:
            yield from self._of_pair(number, self._pair(number, row, str(column)))
        elif column in CONVERSATIONS:
            yield from self._of_turns(number, row[column] or [])
        else:
            raise failures.no_answers(self._name, sorted(map(str, row)))

    def _pair(self, number: int, row: Mapping[str, Any], column: str) -> Pair:
        try:
            return pair_of(row, column)
        except OddPair as error:
            raise StepFailure.of(
                calibration.PAIR, name=self._name, row=number, reason=str(error)
            ) from error

    def _of_pair(self, number: int, pair: Pair) -> Iterator[Exchange]:
        if pair.is_empty:
            return
        if self._tokenizer.chat_template or not pair.is_text:
            yield from self._of_turns(number, pair.turns)
        else:
            prompt = self._tokens(f"{pair.question}{pair.joint}", special=True)
            yield _exchange(prompt, self._tokens(str(pair.answered)))

    def _of_turns(self, number: int, messages: Any) -> Iterator[Exchange]:
        try:
            turns = chat_turns(messages)
            for place, turn in enumerate(turns):
                if place and turn["role"] == _ASSISTANT and isinstance(turn["content"], str):
                    prompt = self._tokens(self._written(turns[:place]))
                    yield _exchange(prompt, self._tokens(turn["content"]))
        except (TemplateError, TypeError, ValueError, KeyError, AttributeError) as error:
            reason = str(error) or type(error).__name__
            raise StepFailure.of(
                calibration.TEMPLATE, name=self._name, row=number, reason=reason
            ) from error

    def _written(self, turns: Any) -> str:
        if not self._tokenizer.chat_template:
            raise StepFailure.of(calibration.NO_TEMPLATE, name=self._name, column=CONVERSATIONS[0])
        text: str = self._tokenizer.apply_chat_template(
            turns, tokenize=False, add_generation_prompt=True
        )
        return text

    def _tokens(self, text: str, *, special: bool = False) -> Tokens:
        encoded = self._tokenizer(text, add_special_tokens=special, verbose=False)
        return np.asarray(encoded["input_ids"], dtype=np.int32)


def _exchange(prompt: Tokens, answer: Tokens) -> Exchange:
    return Exchange(prompt=prompt[-LONGEST_PROMPT_TOKENS:], answer=answer[:LONGEST_ANSWER_TOKENS])


def _is_answered(exchange: Exchange) -> bool:
    return len(exchange.prompt) > 0 and len(exchange.answer) >= SHORTEST_ANSWER_TOKENS
