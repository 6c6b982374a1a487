"""Holds an answer to a JSON schema, token by token."""

import json
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import torch
from llguidance import LLMatcher, LLTokenizer
from torch import Tensor

from workers.engine.errors import RequestRefused, RowFailed

ANY_OBJECT: Mapping[str, Any] = {"type": "object"}
# Free whitespace lets a weak model spend its whole answer on blanks.
JSON_STYLE = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}


class Grammars:
    """Compiles schemas for one tokenizer."""

    def __init__(self, tokenizer: Any, *, vocabulary: int, end_tokens: Collection[int]) -> None:
        self._vocabulary = vocabulary
        self._tokenizer = LLTokenizer(
            tokenizer.to_str(), n_vocab=vocabulary, eos_token=sorted(end_tokens) or None
        )

    def compile(self, schema: Mapping[str, Any], *, field: str) -> "Grammar":
        """Give back a matcher at its start. Raises: `RequestRefused` that names `field`."""
        grammar = LLMatcher.grammar_from_json_schema(json.dumps(schema), defaults=JSON_STYLE)
        failed, messages = LLMatcher.validate_grammar_with_warnings(grammar, self._tokenizer)
        if failed or messages:
            raise RequestRefused(
                f"The schema cannot be held to: {'; '.join(messages).strip()}", field=field
            )
        matcher = LLMatcher(self._tokenizer, grammar, log_level=0)
        if matcher.is_error():
            raise RequestRefused(
                f"The schema cannot be held to: {matcher.get_error().strip()}", field=field
            )
        return Grammar(matcher, self._vocabulary)


class Grammar:
    """Where one row stands in its schema."""

    def __init__(self, matcher: LLMatcher, vocabulary: int) -> None:
        self._matcher = matcher
        self._vocabulary = vocabulary

    @property
    def is_complete(self) -> bool:
        """Whether the answer is whole and nothing may follow."""
        return self._matcher.is_stopped()

    def mask(self, logits: Tensor) -> Tensor:
        """Give back the logits with every token that breaks the schema at minus infinity."""
        bits = np.frombuffer(self._matcher.compute_bitmask(), np.uint8)
        self._raise_error()
        allowed = np.unpackbits(bits, bitorder="little", count=self._vocabulary)
        forbidden = torch.from_numpy(allowed == 0).to(logits.device)
        return logits.masked_fill(forbidden, float("-inf"))

    def advance(self, token: int) -> None:
        """Move past a token that the mask allowed."""
        self._matcher.consume_token(token)
        self._raise_error()

    def _raise_error(self) -> None:
        if self._matcher.is_error():
            raise RowFailed(f"the grammar stopped: {self._matcher.get_error().strip()}")
