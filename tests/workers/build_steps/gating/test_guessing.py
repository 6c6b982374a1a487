"""What a guess by frequency has as perplexity: whoever is to be called better must beat it."""

import math

import pytest

from workers.build_steps.gating import guessing


def test_a_guess_knows_the_tokens_of_the_other_samples() -> None:
    # The first token of a sample is never predicted.
    often, rare = [9, 1, 1, 1, 2], [9, 1, 1, 1, 1]
    perplexity = guessing.perplexity([often, rare], 8)
    known, unknown = (4 + 1 / 8) / 5, (0 + 1 / 8) / 5
    others = (3 + 2 / 8) / 6
    loss = 3 * math.log(known) + math.log(unknown) + 4 * math.log(others)
    assert perplexity == pytest.approx(math.exp(-loss / 8))


@pytest.mark.parametrize("samples", [[[1, 2, 3]], [[0, 1], [0, 2], [0, 3]]])
def test_a_guess_is_never_worse_than_one_among_all_tokens(samples: list[list[int]]) -> None:
    assert guessing.perplexity(samples, 512) == pytest.approx(512)
