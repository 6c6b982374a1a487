"""Holds an answer to a JSON schema or a grammar, token by token."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from llguidance import LLMatcher, LLTokenizer
from llguidance.gbnf_to_lark import gbnf_to_lark
from torch import Tensor

from workers.engine.errors import CheckpointRefused, RequestRefused, RowFailed
from workers.engine.looser_schema import without_odd_patterns
from workers.engine.schema_check import SchemaCheck

ANY_OBJECT: Mapping[str, Any] = {"type": "object"}
# Free whitespace lets a weak model spend its whole answer on blanks.
JSON_STYLE = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
LOOSE_STYLE = {**JSON_STYLE, "lenient": True, "coerce_one_of": True}
"""What llguidance has no grammar for is left to the schema's check, `oneOf` is held as `anyOf`."""
GBNF_MARK = "::="


class Grammars:
    """Compiles schemas and grammars for one tokenizer."""

    def __init__(self, tokenizer: Any, *, vocabulary: int, end_tokens: Collection[int]) -> None:
        known = self._listed = tokenizer.get_vocab_size()
        if known > vocabulary:
            raise CheckpointRefused(
                f"The tokenizer has {known} tokens and the model {vocabulary}; use the tokenizer "
                "that the model was trained with."
            )
        self._vocabulary = vocabulary
        # A checkpoint may end its answers with a token that its tokenizer does not list.
        self._unlisted_ends = [end for end in end_tokens if known <= end < vocabulary]
        self._tokenizer = LLTokenizer(
            tokenizer.to_str(),
            n_vocab=vocabulary,
            eos_token=sorted(end for end in end_tokens if end < known) or None,
        )

    def compile(self, schema: Mapping[str, Any], *, field: str) -> "Grammar":
        """Give back a matcher at its start, a looser one where no grammar holds all of the schema.

        Raises: `RequestRefused` that names `field`.
        """
        try:
            return self._compile({**schema, "x-guidance": JSON_STYLE}, field)
        except RequestRefused:
            check = SchemaCheck(schema, field=field)
            loose = {**without_odd_patterns(schema), "x-guidance": LOOSE_STYLE}
            return replace(self._compile(loose, field, may_warn=True), unheld=check)

    def compile_regex(self, pattern: str, *, field: str) -> "Grammar":
        """Give back a matcher of a whole answer. Raises: `RequestRefused`."""
        return self._start(LLMatcher.grammar_from_regex(pattern), "expression", field)

    def compile_choice(self, choices: Sequence[str], *, field: str) -> "Grammar":
        """Give back a matcher of one of some texts. Raises: `RequestRefused`."""
        return self.compile_lark("start: " + " | ".join(map(json.dumps, choices)), field=field)

    def compile_lark(self, grammar: str, *, field: str, may_warn: bool = False) -> "Grammar":
        """Give back a matcher of a grammar in Lark's notation or GBNF. Raises: `RequestRefused`."""
        if GBNF_MARK in grammar:
            grammar = _from_gbnf(grammar, field)
        text = LLMatcher.grammar_from_lark(grammar)
        return self._start(text, "grammar", field, may_warn=may_warn)

    def either(self, one: "Grammar", other: "Grammar", *, field: str) -> "Grammar":
        """Give back a matcher of what the first holds or the second. Raises: `RequestRefused`."""
        parts = [
            {"name": "either", "lark_grammar": "start: @one | @other"},
            {**_as_part(one.text), "name": "one"},
            {**_as_part(other.text), "name": "other"},
        ]
        return self._start(json.dumps({"grammars": parts}), "grammar", field, may_warn=True)

    def token_bytes(self, token: int) -> bytes:
        return self._tokenizer.decode_bytes([token]) if token < self._listed else b""

    def _compile(
        self, schema: Mapping[str, Any], field: str, *, may_warn: bool = False
    ) -> "Grammar":
        try:
            text = LLMatcher.grammar_from_json_schema(json.dumps(schema))
        except (ValueError, RecursionError) as error:  # it is nested deeper than can be read
            raise _refusal(field, "schema", error) from None
        return replace(self._start(text, "schema", field, may_warn=may_warn), schema=schema)

    def _start(self, text: str, what: str, field: str, *, may_warn: bool = False) -> "Grammar":
        failed, messages = LLMatcher.validate_grammar_with_warnings(text, self._tokenizer)
        messages = [] if may_warn and not failed else messages
        matcher = LLMatcher(self._tokenizer, text, log_level=0)
        if not matcher.is_error():
            matcher.compute_bitmask()
            if matcher.is_error():  # a schema that leads back to itself before any text
                messages = ["no answer could ever begin"]
        if failed or messages or matcher.is_error():
            reason = "; ".join(messages).strip() or matcher.get_error().strip()
            raise _refusal(field, what, reason)
        return Grammar(
            text=text, matcher=matcher, vocabulary=self._vocabulary,
            unlisted_ends=self._unlisted_ends,
        )  # fmt: skip


@dataclass(slots=True, kw_only=True)
class Grammar:
    """Where one row stands in its grammar."""

    text: str
    matcher: LLMatcher
    vocabulary: int
    unlisted_ends: Sequence[int]
    starts_after: int | None = None
    """The token that it waits for, where it does not hold from the beginning."""
    schema: Mapping[str, Any] | None = None
    """The schema that the matcher holds, in a style, where it holds one."""
    unheld: SchemaCheck | None = None
    """What a whole answer must be asked in addition, where the matcher is a looser one."""

    @property
    def is_complete(self) -> bool:
        return self.matcher.is_stopped()

    def copy(self, *, starts_after: int | None = None) -> "Grammar":
        """Give back another one that stands at the same place, or waits for a token to begin."""
        waits_for = self.starts_after if starts_after is None else starts_after
        return replace(self, matcher=self.matcher.deep_copy(), starts_after=waits_for)

    def mask(self, logits: Tensor) -> Tensor:
        """Give back the logits with every token that breaks the grammar at minus infinity."""
        if self.starts_after is not None:
            return logits
        bits = np.frombuffer(self.matcher.compute_bitmask(), np.uint8)
        self._raise_error()
        allowed = np.unpackbits(bits, bitorder="little", count=self.vocabulary)
        if self.unlisted_ends and self.matcher.is_accepting():
            allowed[self.unlisted_ends] = 1
        forbidden = torch.from_numpy(allowed == 0).to(logits.device)
        return logits.masked_fill(forbidden, float("-inf"))

    def forced(self) -> Sequence[int]:
        """Give back the tokens that must follow, where only one text may.

        None of a matcher that has stopped: the row fails where its next token is masked, alone.
        """
        if self.starts_after is not None or self.matcher.is_error():
            return ()
        tokens: Sequence[int] = self.matcher.compute_ff_tokens()
        return () if self.matcher.is_error() else tokens

    def allowed(self, tokens: Sequence[int]) -> Sequence[int]:
        if self.starts_after is not None:
            return tokens
        if self.matcher.is_error():
            return ()
        return tokens[: self.matcher.validate_tokens(list(tokens))]

    def advance(self, token: int) -> None:
        if self.starts_after is not None:
            self.starts_after = None if token == self.starts_after else self.starts_after
        elif token not in self.unlisted_ends:
            self.matcher.consume_token(token)
            self._raise_error()

    def _raise_error(self) -> None:
        if self.matcher.is_error():
            reason = self.matcher.get_error().strip().partition("\n")[0]  # its whole state follows
            raise RowFailed(f"the grammar stopped: {reason}")


def _as_part(text: str) -> Mapping[str, Any]:
    """A grammar as one of several: llguidance writes schemas and expressions as JSON, Lark bare."""
    if not text.startswith("{"):
        return {"lark_grammar": text}
    part: Mapping[str, Any] = json.loads(text)["grammars"][0]
    return part


def _from_gbnf(grammar: str, field: str) -> str:
    try:
        return gbnf_to_lark(grammar)
    except Exception as error:  # llguidance raises nothing narrower for a slip in the grammar
        raise _refusal(field, "grammar", error) from error


def _refusal(field: str, what: str, reason: object) -> RequestRefused:
    return RequestRefused(f"`{field}`: this {what} cannot be held to: {reason}", field=field)
