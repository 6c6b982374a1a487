"""Turns checked fields into what the engine runs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import zip_longest

from workers.engine.engine import Engine
from workers.engine.errors import CONTEXT_LENGTH_EXCEEDED, RequestRefused
from workers.engine.generation import Generation, Sampling
from workers.engine.server.answer_check import AnswerCheck
from workers.engine.server.chat import plan_chat
from workers.engine.server.fields import ChatFields, CompletionFields, GenerationFields
from workers.engine.server.plan import plan_completion
from workers.engine.server.tools.reader import ChatReader

SAME_NAMES = {each.name for each in fields(Sampling)} & GenerationFields.model_fields.keys()
"""What a request says in the engine's own words."""


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A request that nothing but the model can still fail."""

    prompt_tokens: int
    choices: Sequence[partial[Generation]]
    """Each lacks only whom to report to."""
    choices_per_prompt: int
    tells_scores: bool
    make_reader: Callable[[], ChatReader | None]
    check: AnswerCheck


def prepare(engine: Engine, fields: ChatFields | CompletionFields) -> Prepared:
    """Tokenize, check the lengths and compile the grammar. Raises: `RequestRefused`."""
    sampling = _sampling(engine, fields)
    if isinstance(fields, ChatFields):
        plan = plan_chat(engine, fields)
    else:
        plan = plan_completion(engine, fields)
    if plan.grammar is not None and fields.min_tokens:
        raise RequestRefused(
            "`min_tokens` and a schema or grammar contradict each other; send one.",
            field="min_tokens",
        )
    if plan.shows_special_tokens:
        sampling = replace(sampling, shows_special_tokens=True)
    return Prepared(
        prompt_tokens=sum(map(len, plan.prompts)),
        choices_per_prompt=fields.n,
        choices=[
            partial(
                Generation, prompt=prompt, sampling=_of_choice(sampling, index, room),
                grammar=plan.grammar and plan.grammar.copy(), cache_salt=fields.cache_salt,
                echo=echo,
                adapter=fields.model if fields.model in engine.adapter_names else None,
            )
            for prompt, room, echo in [
                (each, _room(engine, fields, each), echo)
                for each, echo in zip_longest(plan.prompts, plan.echoes)
            ]
            for index in range(fields.n)
        ],
        tells_scores=sampling.top_logprobs is not None,
        make_reader=plan.make_reader,
        check=plan.check,
    )  # fmt: skip


def _sampling(engine: Engine, fields: ChatFields | CompletionFields) -> Sampling:
    for token in fields.logit_bias:
        if not 0 <= token < engine.vocabulary_size:
            raise RequestRefused(
                f"`logit_bias` names token {token}; this model has tokens 0 to "
                f"{engine.vocabulary_size - 1}.",
                field="logit_bias",
            )
    own = {name: getattr(fields, name) for name in SAME_NAMES}
    if fields.max_tokens is None:
        own["max_tokens"] = engine.settings.default_max_tokens or engine.max_seq_len
    return Sampling(
        **own,
        top_logprobs=fields.requested_logprobs,
        shows_special_tokens=not fields.skip_special_tokens,
    )


def _of_choice(sampling: Sampling, index: int, room: int) -> Sampling:
    """Choices of one prompt differ by their seed and are repeatable all the same."""
    seed = None if sampling.seed is None else sampling.seed + index
    return replace(sampling, seed=seed, max_tokens=min(room, sampling.max_tokens))


def _room(engine: Engine, fields: GenerationFields, prompt: Sequence[int]) -> int:
    room, least = engine.max_seq_len - len(prompt), 0 if fields.max_tokens == 0 else 1
    if room < least:
        raise RequestRefused(
            f"The prompt has {len(prompt)} tokens; this engine holds {engine.max_seq_len} tokens "
            f"of prompt and answer together. Shorten the prompt by {least - room} or more.",
            field="messages" if isinstance(fields, ChatFields) else "prompt",
            code=CONTEXT_LENGTH_EXCEEDED,
        )
    return room
