"""The scores of a prompt's tokens are those that Transformers gives them."""

from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM

from tests.workers.engine.asking import Asked, Hold, start_engine
from workers.engine.engine import Engine
from workers.engine.generation import FinishReason, TokenScore

pytestmark = pytest.mark.engine

PROMPT = [1, *range(20, 320)]
"""More than are scored in one step."""


@pytest.fixture(scope="module")
def expected(checkpoint: Path) -> list[float]:
    model = AutoModelForCausalLM.from_pretrained(checkpoint, dtype=torch.float32)
    logprobs = model(torch.tensor([PROMPT])).logits[0, :-1].log_softmax(-1)
    return logprobs.gather(-1, torch.tensor(PROMPT[1:])[:, None])[:, 0].tolist()


def _assert_equal(scores: tuple[TokenScore, ...], expected: list[float]) -> None:
    assert [each.token for each in scores] == PROMPT
    assert scores[0].logprob is None
    assert [each.logprob for each in scores[1:]] == pytest.approx(expected, abs=2e-5)


def test_they_are_those_of_transformers_with_an_answer_and_without(
    engine: Engine, expected: list[float]
) -> None:
    for tokens in (0, 3):
        request = Asked(engine, PROMPT, max_tokens=tokens, prompt_logprobs=2, ignore_eos=True)
        first, *more = request.pieces()
        _assert_equal(first.prompt_scores, expected)
        assert [each.prompt_scores for each in more] == [()] * len(more)
        assert all(len(each.likeliest) == 2 for each in first.prompt_scores[1:])
        last = more[-1] if more else first
        assert (len(request.tokens), last.finish_reason) == (tokens, FinishReason.LENGTH)


def test_they_are_told_though_the_prompt_was_kept_and_it_serves_others_after(
    engine: Engine, expected: list[float]
) -> None:
    Asked(engine, PROMPT, max_tokens=1).finish()
    (piece,) = Asked(engine, PROMPT, max_tokens=0, prompt_logprobs=0).pieces()
    _assert_equal(piece.prompt_scores, expected)
    assert piece.cached_tokens == 0
    (after,) = Asked(engine, PROMPT, max_tokens=1).pieces()
    assert after.cached_tokens == len(PROMPT) - 1


def test_the_rank_is_the_place_among_all_words(engine: Engine) -> None:
    (piece,) = Asked(engine, PROMPT, max_tokens=0, prompt_logprobs=20).pieces()
    for score in piece.prompt_scores[1:]:
        assert score.rank is not None
        listed = [token for token, _ in score.likeliest]
        assert (score.token in listed) == (score.rank <= 20)
        if score.token in listed:
            assert listed[score.rank - 1] == score.token


def test_a_row_that_gives_way_while_it_is_scored_tells_each_score_once(
    checkpoint: Path, expected: list[float]
) -> None:
    engine = start_engine(
        checkpoint, scheduler_policy="max_utilization", max_num_tokens=64,
        kv_cache_bytes=420 * 2 * 2 * 2 * 16 * 4,
    )  # fmt: skip
    hold = Hold()
    old = Asked(engine, [5], max_tokens=400, on_piece=hold, ignore_eos=True)
    with hold:
        scored = Asked(engine, PROMPT, max_tokens=120, prompt_logprobs=0, ignore_eos=True)
    prompt_scores = [piece.prompt_scores for piece in scored.pieces() if piece.prompt_scores]
    assert len(prompt_scores) == 1
    _assert_equal(prompt_scores[0], expected)
    assert old.finish().failure is None
    engine.stop()


def test_an_echo_comes_before_the_answer_and_its_scores_with_it(
    engine: Engine, expected: list[float]
) -> None:
    plain = Asked(engine, PROMPT, max_tokens=3, top_logprobs=1, ignore_eos=True).finish()
    request = Asked(
        engine, PROMPT, max_tokens=3, top_logprobs=1, ignore_eos=True,
        generation={"echo": "the prompt"},
    )  # fmt: skip
    pieces = list(request.pieces())
    scores = [score for piece in pieces for score in piece.scores]
    assert "".join(piece.text for piece in pieces) == "the prompt" + plain.text
    _assert_equal(tuple(scores[:-3]), expected)
    assert [each.token for each in scores[-3:]] == plain.tokens
    assert {len(each.likeliest) for each in scores[1:]} == {1}
