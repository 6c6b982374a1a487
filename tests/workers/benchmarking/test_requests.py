"""The requests of a run: repeatable, each another, of the length that was asked for."""

import json
from itertools import islice

import pytest

from controlplane.domain.benchmarks.order import (
    BenchmarkOrder,
    Lengths,
    Load,
    LoadKind,
    Sample,
    Target,
)
from controlplane.domain.benchmarks.shapes import Kind
from workers.benchmarking.requests import TokenRate, requests_of

LOAD = Load(kind=LoadKind.CONCURRENCY, levels=(1,))


def bodies(kind: Kind, *, seed: int = 1, count: int = 3, samples=(), **lengths) -> list[dict]:
    target = Target(label="t", url="http://x", route="/r", kind=kind, model="qwen")
    order = BenchmarkOrder(
        targets=(target,), load=LOAD, samples=samples,
        lengths=Lengths(**lengths) if lengths else None,
    )  # fmt: skip
    outcome = islice(requests_of(order, target, TokenRate(per_word=2, beside=10), seed=seed), count)
    return [json.loads(each.body) for each in outcome]


def test_one_seed_makes_the_same_requests_and_no_two_of_them_begin_alike():
    first, again, other = (
        bodies(Kind.CHAT, seed=seed, prompt_tokens=110, completion_tokens=8) for seed in (1, 1, 2)
    )
    texts = [each["messages"][0]["content"] for each in first]

    assert first == again != other
    assert len({text.split()[0] for text in texts}) == 3
    assert len(texts[0].split()) == 51  # a number, and 50 words of two tokens
    assert (first[0]["max_tokens"], first[0]["ignore_eos"]) == (8, True)


def test_what_a_shape_shares_is_the_same_in_every_request():
    outcome = bodies(Kind.CHAT, prompt_tokens=300, completion_tokens=8, shared_tokens=100)
    assert {each["messages"][0]["role"] for each in outcome} == {"system"}
    assert len({each["messages"][0]["content"] for each in outcome}) == 1


def test_own_prompts_end_where_the_model_ends_them_unless_they_say_how_long():
    free, bound = (
        bodies(Kind.CHAT, count=1, samples=(Sample(prompt="Hi", completion_tokens=tokens),))[0]
        for tokens in (None, 5)
    )
    assert free["messages"] == [{"role": "user", "content": "Hi"}]
    assert "ignore_eos" not in free
    assert (bound["max_tokens"], bound["ignore_eos"]) == (5, True)


@pytest.mark.parametrize(
    ("kind", "field"),
    [(Kind.EMBEDDINGS, "input"), (Kind.CLASSIFY, "inputs"), (Kind.RERANK, "texts")],
)
def test_encoders_are_asked_in_their_own_form(kind, field):
    (body,) = bodies(kind, count=1, prompt_tokens=50, texts=4)
    assert field in body
    assert kind is not Kind.RERANK or len(body["texts"]) == 4
