"""The requests of a run: the same for one seed, each of another text."""

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from controlplane.domain.benchmarks.order import BenchmarkOrder, Lengths, Sample, Target
from controlplane.domain.benchmarks.shapes import Kind

DEFAULT_COMPLETION_TOKENS = 256
"""Of own prompts that name none."""
_COMMON = (
    "time year people way day man thing woman life child world school state family student group "
    "country problem hand part place case week company system program question work number night "
    "point home water room mother area money story fact month lot right study book eye job word"
)
_WORDS = tuple(_COMMON.split())
_QUERY_TOKENS = 16


@dataclass(frozen=True, kw_only=True)
class Prepared:
    route: str
    body: bytes
    is_stream: bool
    texts: int = 1


@dataclass(frozen=True, kw_only=True)
class TokenRate:
    """How a server counts: so many tokens for each word, and so many beside them."""

    per_word: float = 1.0
    beside: float = 0.0

    def words(self, tokens: int) -> int:
        return max(1, round((tokens - self.beside) / self.per_word))


def requests_of(
    order: BenchmarkOrder, target: Target, rate: TokenRate, *, seed: int
) -> Iterator[Prepared]:
    """Yield requests for ever; no two begin alike but for what their shape shares."""
    chance = random.Random(seed)  # nosec B311 (the same for each run)
    number = 0
    while True:
        number += 1
        sample = chance.choice(order.samples) if order.samples else None
        yield _prepared(target, _body(order, target, sample, rate, chance, number))


def probe(target: Target, words: int) -> Prepared:
    text = _text(random.Random(words), words)  # nosec B311 (as above)
    lengths = Lengths(prompt_tokens=words, completion_tokens=1)
    return _prepared(target, _form(target, text, text, lengths))


def _prepared(target: Target, body: Mapping[str, Any]) -> Prepared:
    texts = body.get("texts")
    return Prepared(
        route=target.route,
        body=json.dumps(body).encode(),
        is_stream=bool(body.get("stream")),
        texts=len(texts) if texts else 1,
    )


def _body(
    order: BenchmarkOrder,
    target: Target,
    sample: Sample | None,
    rate: TokenRate,
    chance: random.Random,
    number: int,
) -> Mapping[str, Any]:
    if sample is not None and sample.prompt_tokens is None:
        return _of_text(target, sample)
    lengths = order.lengths or Lengths(prompt_tokens=1)
    if sample is not None:
        lengths = Lengths(
            prompt_tokens=sample.prompt_tokens or 1, completion_tokens=sample.completion_tokens or 1
        )
    same = random.Random(order.seed)  # nosec B311 (as above)
    shared = _text(same, rate.words(lengths.shared_tokens))
    own = lengths.prompt_tokens - lengths.shared_tokens
    text = f"{number} {_own_text(lengths, chance, rate.words(own))}"
    return _form(target, text, shared if lengths.shared_tokens else "", lengths, chance, rate)


def _of_text(target: Target, sample: Sample) -> Mapping[str, Any]:
    messages = sample.messages or ({"role": "user", "content": sample.prompt},)
    tokens = sample.completion_tokens
    return _chat(target, list(messages), tokens or DEFAULT_COMPLETION_TOKENS, to_the_end=not tokens)


def _form(
    target: Target,
    text: str,
    shared: str,
    lengths: Lengths,
    chance: random.Random | None = None,
    rate: TokenRate | None = None,
) -> Mapping[str, Any]:
    if target.kind is Kind.EMBEDDINGS:
        return {"model": target.model, "input": text}
    if target.kind is Kind.CLASSIFY:
        return {"inputs": [[text]]}
    if target.kind is Kind.RERANK:
        return {"query": _query(text), "texts": _texts(text, lengths, chance, rate)}
    messages = [{"role": "user", "content": text}]
    if shared and chance is not None:
        messages.insert(0, {"role": "system", "content": shared})
    return _chat(target, messages, lengths.completion_tokens, to_the_end=False)


def _chat(
    target: Target, messages: list[Any], tokens: int, *, to_the_end: bool
) -> Mapping[str, Any]:
    body: dict[str, Any] = {
        "model": target.model, "messages": messages, "max_tokens": tokens, "temperature": 0,
        "stream": True, "stream_options": {"include_usage": True},
    }  # fmt: skip
    # Answers of one length, whatever the model would like to say.
    return body if to_the_end else body | {"ignore_eos": True}


def _query(text: str) -> str:
    return " ".join(text.split()[:_QUERY_TOKENS])


def _texts(
    text: str, lengths: Lengths, chance: random.Random | None, rate: TokenRate | None
) -> list[str]:
    if chance is None or rate is None:
        return [text]
    words = rate.words(lengths.prompt_tokens)
    return [_text(chance, words) for _ in range(lengths.texts)]


def _own_text(lengths: Lengths, chance: random.Random, words: int) -> str:
    if not lengths.is_code:
        return _text(chance, words)
    # About six tokens stand in a line; the change asks for all of them back.
    lines = (f"{chance.choice(_WORDS)} = {chance.choice(_WORDS)}\n" for _ in range(words // 4))
    return "Return this file with every `time` renamed to `moment`:\n" + "".join(lines)


def _text(chance: random.Random, words: int) -> str:
    return " ".join(chance.choices(_WORDS, k=words))
