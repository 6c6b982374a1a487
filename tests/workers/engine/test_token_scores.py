"""Bias, penalties and log probabilities are those that Transformers computes."""

from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM
from transformers.generation.logits_process import (
    MinPLogitsWarper,
    RepetitionPenaltyLogitsProcessor,
)

from tests.workers.engine.asking import Asked
from workers.engine.engine import Engine
from workers.engine.generation import FinishReason, Sampling
from workers.engine.sampler import Sampler
from workers.engine.token_scores import shape_scores

pytestmark = pytest.mark.engine

PROMPT = (1, 321, 71, 84, 42)
SCORES = torch.tensor([1.0, -2.0, 0.5, 3.0, 0.0])


def test_a_repetition_penalty_gives_the_tokens_of_generate(
    engine: Engine, checkpoint: Path
) -> None:
    model = AutoModelForCausalLM.from_pretrained(checkpoint, dtype=torch.float32)
    expected = model.generate(
        torch.tensor([PROMPT]), max_new_tokens=24, do_sample=False, pad_token_id=0,
        repetition_penalty=1.4,
    )[0, len(PROMPT) :].tolist()  # fmt: skip
    penalized = Asked(engine, PROMPT, repetition_penalty=1.4).finish().tokens
    assert penalized == expected
    assert penalized != Asked(engine, PROMPT).finish().tokens


@pytest.mark.parametrize("penalty", [0.7, 1.5])
def test_repetition_is_penalized_as_transformers_does(penalty: float) -> None:
    how = Sampling(max_tokens=1, repetition_penalty=penalty)
    seen = torch.tensor([[1, 3, 3]])
    expected = RepetitionPenaltyLogitsProcessor(penalty)(seen, SCORES[None].clone())[0]
    assert torch.equal(shape_scores(SCORES, how, prompt=[1], answer=[3, 3]), expected)


def test_presence_counts_once_and_frequency_each_time_in_the_answer_alone() -> None:
    how = Sampling(max_tokens=1, presence_penalty=0.5, frequency_penalty=0.25)
    shaped = shape_scores(SCORES, how, prompt=[0, 0], answer=[3, 3, 2])
    assert (SCORES - shaped).tolist() == [0, 0, 0.75, 1.0, 0]


@pytest.mark.parametrize("min_p", [0.02, 0.2, 1.0])
def test_min_p_keeps_what_transformers_keeps(min_p: float) -> None:
    kept = MinPLogitsWarper(min_p)(torch.tensor([[0]]), SCORES[None].clone())[0].isfinite()
    sampler = Sampler(Sampling(max_tokens=1, min_p=min_p, seed=1))
    drawn = {sampler.choose(SCORES) for _ in range(600)}
    assert drawn == set(kept.nonzero().flatten().tolist())


def test_bias_forces_and_bans_a_token(engine: Engine) -> None:
    best = Asked(engine, PROMPT, max_tokens=1).finish().tokens[0]
    assert Asked(engine, PROMPT, max_tokens=4, logit_bias={77: 100.0}).finish().tokens == [77] * 4
    banned = Asked(engine, PROMPT, max_tokens=24, logit_bias={best: -100.0}).finish()
    assert best not in banned.tokens


def test_log_probabilities_are_the_models_own(engine: Engine, checkpoint: Path) -> None:
    request = Asked(engine, PROMPT, max_tokens=6, ignore_eos=True, top_logprobs=3, temperature=0.0)
    scores = [score for piece in request.pieces() for score in piece.scores]
    model = AutoModelForCausalLM.from_pretrained(checkpoint, dtype=torch.float32)
    with torch.inference_mode():
        logits = model(torch.tensor([[*PROMPT, *request.tokens]])).logits[0, len(PROMPT) - 1 : -1]
    expected = logits.log_softmax(-1)
    assert [score.token for score in scores] == request.tokens
    for score, row in zip(scores, expected, strict=True):
        assert score.logprob == pytest.approx(row[score.token].item(), abs=1e-4)
        assert [token for token, _ in score.likeliest] == row.topk(3).indices.tolist()
        assert score.likeliest[0] == (score.token, score.logprob)


def test_a_stop_token_ends_the_answer_without_text(engine: Engine) -> None:
    tokens = Asked(engine, PROMPT, max_tokens=20, ignore_eos=True).finish().tokens
    stop = next(token for at, token in enumerate(tokens) if at > 3 and token not in tokens[:at])
    request = Asked(engine, PROMPT, ignore_eos=True, stop_tokens=frozenset({stop})).finish()
    assert request.reason is FinishReason.STOP
    assert request.tokens == tokens[: tokens.index(stop) + 1]
    assert request.text == engine.codec.decode(tokens[: tokens.index(stop)]).rstrip("\ufffd")
    late = Asked(engine, PROMPT, stop_tokens=frozenset({stop}), min_tokens=20).finish()
    assert len(late.tokens) >= 20
