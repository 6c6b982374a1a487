"""What a request asks of the engine, sampling apart; chats have more to it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from workers.engine.engine import Engine
from workers.engine.errors import RequestRefused
from workers.engine.grammar import Grammar
from workers.engine.server.answer_check import AnswerCheck
from workers.engine.server.constraints import compile_constraint
from workers.engine.server.fields import CompletionFields
from workers.engine.server.tools.reader import ChatReader

MOST_PROMPTS = 128


@dataclass(frozen=True, kw_only=True)
class Plan:
    prompts: Sequence[Sequence[int]]
    grammar: Grammar | None
    make_reader: Callable[[], ChatReader | None] = lambda: None
    """Absent: all text is content."""
    check: AnswerCheck = field(default_factory=AnswerCheck)
    shows_special_tokens: bool = False
    echoes: Sequence[str] = ()
    """What is told of each prompt before its answer; absent: nothing."""


def plan_completion(engine: Engine, fields: CompletionFields) -> Plan:
    """Tokenize and compile. Raises: `RequestRefused`."""
    prompt = fields.prompt
    is_list = isinstance(prompt, list) and any(isinstance(part, str | list) for part in prompt)
    prompts = list(prompt) if is_list else [prompt]
    if len(prompts) > MOST_PROMPTS:
        raise RequestRefused(
            f"`prompt` holds {len(prompts)} prompts; send {MOST_PROMPTS} at most.", field="prompt"
        )
    grammar = compile_constraint(engine.grammars, fields)
    tokens = [_tokens(engine, one) for one in prompts]
    return Plan(
        prompts=tokens,
        grammar=grammar,
        echoes=[
            one if isinstance(one, str) else engine.codec.decode(its_tokens)
            for one, its_tokens in zip(prompts, tokens, strict=True)
            if fields.echo
        ],
        check=AnswerCheck(content=grammar.unheld if grammar else None),
    )


def _tokens(engine: Engine, prompt: Any) -> list[int]:
    if isinstance(prompt, str):
        tokens = engine.codec.encode(prompt)
        if not tokens:
            raise RequestRefused("`prompt` is empty; send at least one character.", field="prompt")
        return tokens
    known = range(engine.vocabulary_size)
    is_list = isinstance(prompt, list) and prompt
    if not is_list or not all(type(token) is int and token in known for token in prompt):
        raise RequestRefused(
            f"`prompt` should be a text or token ids from 0 to {known.stop - 1}, or a list of "
            "either.",
            field="prompt",
        )
    return list(prompt)
