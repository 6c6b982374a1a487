"""Turns checked fields into what the engine runs."""

from dataclasses import dataclass
from typing import Any

from workers.engine.engine import Engine
from workers.engine.errors import CONTEXT_LENGTH_EXCEEDED, RequestRefused
from workers.engine.generation import Sampling
from workers.engine.grammar import ANY_OBJECT, Grammar
from workers.engine.server.fields import (
    ChatFields,
    CompletionFields,
    GenerationFields,
    ResponseFormat,
)


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A request that nothing but the model can still fail."""

    prompt: list[int]
    sampling: Sampling
    grammar: Grammar | None


def prepare(engine: Engine, fields: GenerationFields) -> Prepared:
    """Tokenize, check the length and compile the schema. Raises: `RequestRefused`."""
    prompt = _prompt_tokens(engine, fields)
    return Prepared(
        prompt=prompt,
        sampling=Sampling(
            max_tokens=_answer_tokens(engine, fields, prompt),
            temperature=1.0 if fields.temperature is None else fields.temperature,
            top_p=1.0 if fields.top_p is None else fields.top_p,
            top_k=max(0, fields.top_k or 0),
            seed=fields.seed,
            stop=fields.stop,
            ignore_eos=bool(fields.ignore_eos),
        ),
        grammar=_grammar(engine, fields.response_format),
    )


def _prompt_tokens(engine: Engine, fields: GenerationFields) -> list[int]:
    if isinstance(fields, ChatFields):
        messages = [{"role": m.role, "content": m.content} for m in fields.messages]
        return engine.codec.encode_chat(messages)
    if isinstance(fields, CompletionFields):
        return _plain_prompt(engine, fields.prompt)
    raise TypeError(f"{type(fields).__name__} holds no prompt")


def _plain_prompt(engine: Engine, prompt: str | list[Any]) -> list[int]:
    """A text, token ids, or a list that holds one of either."""
    if isinstance(prompt, list) and len(prompt) == 1 and isinstance(prompt[0], str | list):
        return _plain_prompt(engine, prompt[0])
    if isinstance(prompt, str):
        tokens = engine.codec.encode(prompt)
        if not tokens:
            raise RequestRefused("`prompt` is empty; send at least one character.", field="prompt")
        return tokens
    if any(isinstance(part, str | list) for part in prompt):
        raise RequestRefused(
            f"`prompt` holds {len(prompt)} prompts; send one per request.",
            field="prompt",
            code="unsupported_parameter",
        )
    known = range(engine.vocabulary_size)
    if not prompt or not all(type(token) is int and token in known for token in prompt):
        raise RequestRefused(
            f"`prompt` should be a text or token ids from 0 to {known.stop - 1}.", field="prompt"
        )
    return prompt


def _answer_tokens(engine: Engine, fields: GenerationFields, prompt: list[int]) -> int:
    room = engine.max_seq_len - len(prompt)
    if room < 1:
        raise RequestRefused(
            f"The prompt has {len(prompt)} tokens; this engine holds {engine.max_seq_len} tokens "
            f"of prompt and answer together. Shorten the prompt by {1 - room} or more.",
            field="messages" if isinstance(fields, ChatFields) else "prompt",
            code=CONTEXT_LENGTH_EXCEEDED,
        )
    return min(room, fields.asked_tokens or engine.settings.default_max_tokens or room)


def _grammar(engine: Engine, wanted: ResponseFormat | None) -> Grammar | None:
    match wanted.type if wanted else "text":
        case "text":
            return None
        case "json_object":
            return engine.grammars.compile(ANY_OBJECT, field="response_format")
        case "json_schema" if wanted and wanted.json_schema:
            return engine.grammars.compile(
                wanted.json_schema.schema_, field="response_format.json_schema.schema"
            )
        case "json_schema":
            raise RequestRefused(
                "`response_format` of type `json_schema` needs a `json_schema` with a `schema`.",
                field="response_format.json_schema",
            )
        case other:
            raise RequestRefused(
                f"`response_format.type` is `{other}`; the engine knows `text`, `json_object` "
                "and `json_schema`.",
                field="response_format.type",
            )
