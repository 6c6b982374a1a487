"""What temperature, top_p, top_k and seed promise."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.workers.engine.asking import Asked
from workers.engine.engine import Engine
from workers.engine.errors import RowFailed
from workers.engine.generation import Sampling
from workers.engine.sampler import Sampler

pytestmark = pytest.mark.engine

PROMPT = (1, 321, 71, 84, 42)


def test_a_seed_gives_the_same_answer_whoever_sits_beside(engine: Engine) -> None:
    alone = Asked(engine, PROMPT, temperature=0.9, seed=11).finish().tokens
    crowd = [Asked(engine, PROMPT, temperature=1.2, seed=seed) for seed in (1, 2, 3)]
    again = Asked(engine, PROMPT, temperature=0.9, seed=11).finish().tokens
    others = [one.finish().tokens for one in crowd]
    assert again == alone
    assert len({tuple(tokens) for tokens in others}) == 3


def test_without_a_seed_answers_differ(engine: Engine) -> None:
    answers = [Asked(engine, PROMPT, temperature=1.5).finish().tokens for _ in range(3)]
    assert len({tuple(tokens) for tokens in answers}) > 1


@pytest.mark.parametrize("temperature", [1e-38, 5e-324, 1e-6])
def test_a_temperature_too_low_to_divide_by_is_greedy(engine: Engine, temperature: float) -> None:
    greedy = Asked(engine, PROMPT).finish().tokens
    assert Asked(engine, PROMPT, temperature=temperature).finish().tokens == greedy


def test_top_k_of_one_is_greedy(engine: Engine) -> None:
    greedy = Asked(engine, PROMPT).finish().tokens
    assert Asked(engine, PROMPT, temperature=1.0, top_k=1).finish().tokens == greedy
    assert Asked(engine, PROMPT, temperature=1.0, top_p=0.0).finish().tokens == greedy


@given(
    logits=st.lists(st.floats(-8, 8, width=32), min_size=2, max_size=600),
    top_p=st.floats(0.05, 1),
    top_k=st.integers(0, 700),
    seed=st.integers(0, 2**62),
)
@examples(60)
def test_only_tokens_of_the_nucleus_are_drawn(
    logits: list[float], top_p: float, top_k: int, seed: int
) -> None:
    scores = torch.tensor(logits)
    how = Sampling(max_tokens=1, temperature=0.7, top_p=top_p, top_k=top_k, seed=seed)
    token = Sampler(how).choose(scores)
    better = (scores > scores[token]).sum().item()
    assert top_k == 0 or better < top_k
    kept = (scores / 0.7).sort(descending=True).values[: top_k or None].softmax(-1)
    assert kept[:better].sum().item() < top_p + 1e-5


def test_draws_follow_the_distribution() -> None:
    scores = torch.log(torch.tensor([0.5, 0.3, 0.2]))
    sampler = Sampler(Sampling(max_tokens=1, seed=5))
    draws = torch.bincount(torch.tensor([sampler.choose(scores) for _ in range(4000)]))
    assert torch.allclose(draws / 4000, torch.tensor([0.5, 0.3, 0.2]), atol=0.03)


@pytest.mark.parametrize("bad", [math.nan, -math.inf])
def test_scores_that_are_no_numbers_fail_the_row(bad: float) -> None:
    with pytest.raises(RowFailed):
        Sampler(Sampling(max_tokens=1)).choose(torch.full((8,), bad))
