"""Turns checked fields into what the engine runs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from workers.engine.engine import Engine
from workers.engine.errors import CONTEXT_LENGTH_EXCEEDED, RequestRefused
from workers.engine.generation import Sampling
from workers.engine.grammar import Grammar
from workers.engine.server.chat import plan_chat
from workers.engine.server.constraints import compile_constraint
from workers.engine.server.delta import PlainReader, Reader
from workers.engine.server.fields import ChatFields, CompletionFields, GenerationFields
from workers.engine.server.prompts import plain_prompts


@dataclass(frozen=True, kw_only=True)
class Prompted:
    """One answer that is to be made."""

    prompt: Sequence[int]
    sampling: Sampling
    grammar: Grammar | None


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A request that nothing but the model can still fail."""

    prompt_tokens: int
    choices: Sequence[Prompted]
    choices_per_prompt: int
    tells_scores: bool
    make_reader: Callable[[], Reader] = PlainReader


def prepare(engine: Engine, fields: GenerationFields) -> Prepared:
    """Tokenize, check the lengths and compile the grammar. Raises: `RequestRefused`."""
    sampling = _sampling(engine, fields)
    if isinstance(fields, ChatFields):
        plan = plan_chat(engine, fields)
        if plan.shows_special_tokens:
            sampling = replace(sampling, shows_special_tokens=True)
        prompts, grammar, make_reader = [plan.prompt], plan.grammar, plan.make_reader
    else:
        assert isinstance(fields, CompletionFields)
        prompts, make_reader = plain_prompts(engine, fields.prompt), PlainReader
        grammar = compile_constraint(engine.grammars, fields)
    if grammar is not None and fields.min_tokens:
        raise RequestRefused(
            "`min_tokens` and a schema or grammar contradict each other; send one.",
            field="min_tokens",
        )
    return Prepared(
        prompt_tokens=sum(map(len, prompts)),
        choices_per_prompt=fields.n or 1,
        choices=[
            Prompted(
                prompt=prompt,
                sampling=_of_choice(sampling, index, _room(engine, fields, prompt)),
                grammar=grammar and grammar.copy(),
            )
            for prompt in prompts
            for index in range(fields.n or 1)
        ],
        tells_scores=sampling.top_logprobs is not None,
        make_reader=make_reader,
    )


def _sampling(engine: Engine, fields: GenerationFields) -> Sampling:
    return Sampling(
        max_tokens=fields.asked_tokens or engine.settings.default_max_tokens or engine.max_seq_len,
        min_tokens=fields.min_tokens or 0,
        temperature=1.0 if fields.temperature is None else fields.temperature,
        top_p=1.0 if fields.top_p is None else fields.top_p,
        top_k=max(0, fields.top_k or 0),
        min_p=fields.min_p or 0.0,
        presence_penalty=fields.presence_penalty or 0.0,
        frequency_penalty=fields.frequency_penalty or 0.0,
        repetition_penalty=fields.repetition_penalty or 1.0,
        logit_bias=_known_tokens(engine, fields),
        seed=fields.seed,
        stop=fields.stop,
        stop_tokens=frozenset(fields.stop_token_ids or ()),
        ignore_eos=bool(fields.ignore_eos),
        top_logprobs=fields.asked_logprobs,
        shows_special_tokens=fields.skip_special_tokens is False,
    )


def _of_choice(sampling: Sampling, index: int, room: int) -> Sampling:
    """Choices of one prompt differ by their seed and are repeatable all the same."""
    seed = None if sampling.seed is None else sampling.seed + index
    return replace(sampling, seed=seed, max_tokens=min(room, sampling.max_tokens))


def _known_tokens(engine: Engine, fields: GenerationFields) -> dict[int, float]:
    bias = fields.logit_bias or {}
    for token in bias:
        if not 0 <= token < engine.vocabulary_size:
            raise RequestRefused(
                f"`logit_bias` names token {token}; this model has tokens 0 to "
                f"{engine.vocabulary_size - 1}.",
                field="logit_bias",
            )
    return bias


def _room(engine: Engine, fields: GenerationFields, prompt: Sequence[int]) -> int:
    room = engine.max_seq_len - len(prompt)
    if room < 1:
        raise RequestRefused(
            f"The prompt has {len(prompt)} tokens; this engine holds {engine.max_seq_len} tokens "
            f"of prompt and answer together. Shorten the prompt by {1 - room} or more.",
            field="messages" if isinstance(fields, ChatFields) else "prompt",
            code=CONTEXT_LENGTH_EXCEEDED,
        )
    return room
