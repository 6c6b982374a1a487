"""In float32 the engine says what Transformers says, token for token."""

import random
from pathlib import Path

import pytest

from tests.workers.engine.asking import Asked, start_engine, transformers_greedy
from tests.workers.engine.shapes import SHAPES, make_shape

pytestmark = pytest.mark.engine

PROMPT_LENGTHS = (1, 3, 17, 40, 90)


@pytest.fixture(scope="module", params=SHAPES)
def shape(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_shape(request.param, tmp_path_factory.mktemp(request.param))


def test_batched_greedy_equals_generate(shape: Path) -> None:
    prompts = _prompts()
    engine = start_engine(shape)
    asked = [Asked(engine, prompt, max_tokens=30) for prompt in prompts]
    answers = [one.finish().tokens for one in asked]
    engine.stop()
    assert answers == [transformers_greedy(shape, prompt, 30) for prompt in prompts]


def test_alone_and_in_small_pieces_gives_the_same_tokens(shape: Path) -> None:
    prompts = _prompts()
    roomy = start_engine(shape)
    alone = [Asked(roomy, prompt, max_tokens=20).finish().tokens for prompt in prompts]
    roomy.stop()
    narrow = start_engine(shape, max_num_tokens=7, max_batch_size=3)
    asked = [Asked(narrow, prompt, max_tokens=20) for prompt in prompts]
    assert [one.finish().tokens for one in asked] == alone
    narrow.stop()


def test_rows_on_both_sides_of_a_long_rope_share_steps_and_no_tokens(tmp_path: Path) -> None:
    folder = make_shape("phi3-longrope", tmp_path)
    long = [*_prompts()[-1][:12]] * 7  # repeats, so that much of it is guessed
    prompts = [long[:40], long[:63], long[:64], long[:65], long]
    engine = start_engine(folder, lookahead_ngram=8, max_num_tokens=24)
    asked = [Asked(engine, prompt, max_tokens=40, ignore_eos=True) for prompt in prompts * 2]
    answers = [one.finish().tokens for one in asked]
    engine.stop()
    expected = [transformers_greedy(folder, prompt, 40, min_new_tokens=40) for prompt in prompts]
    assert answers == expected * 2


def _prompts() -> list[list[int]]:
    choice = random.Random(5)
    return [[choice.randrange(3, 390) for _ in range(length)] for length in PROMPT_LENGTHS]
