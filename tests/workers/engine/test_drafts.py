"""Guesses save forwards and change nothing."""

from pathlib import Path

import pytest

from tests.workers.engine.asking import Asked, start_engine
from tests.workers.engine.reading_metrics import metric
from workers.engine.engine import Engine
from workers.runtimes.native.drafting import drafters

pytestmark = pytest.mark.engine

REPEATING = [5, 6, 7, 8, 9, 10, 11, 12] * 4
PROMPTS = (REPEATING, [1, 321, 71, 84, 42], [9, 9, 9, 9], list(range(3, 60)), REPEATING[3:17])


@pytest.fixture(scope="module", params=[1, 3, 8])
def guessing(request: pytest.FixtureRequest, checkpoint: Path):
    engine = start_engine(checkpoint, make_drafter=drafters(request.param, 1))
    yield engine
    engine.stop()


def _answers(engine: Engine, **how: object) -> list[list[int]]:
    asked = [Asked(engine, prompt, max_tokens=150, **how) for prompt in PROMPTS]
    return [one.finish().tokens for one in asked]


def test_greedy_answers_are_those_without_guesses(engine: Engine, guessing: Engine) -> None:
    accepted = metric(guessing, "engine_accepted_draft_tokens_total")
    assert _answers(guessing, ignore_eos=True) == _answers(engine, ignore_eos=True)
    assert _answers(guessing) == _answers(engine)
    assert metric(guessing, "engine_accepted_draft_tokens_total") > accepted
    assert metric(guessing, "engine_kv_cache_used_ratio") == 0


def test_seeded_samples_are_those_without_guesses(engine: Engine, guessing: Engine) -> None:
    how = {"temperature": 0.7, "seed": 3, "ignore_eos": True}
    assert _answers(guessing, **how) == _answers(engine, **how)


def test_an_answer_held_to_a_schema_may_be_guessed_too(engine: Engine, guessing: Engine) -> None:
    schema = {"type": "array", "items": {"enum": ["one", "two"]}, "minItems": 9, "maxItems": 9}
    texts = [
        Asked(
            each, PROMPTS[1], max_tokens=90, grammar=each.grammars.compile(schema, field="x")
        ).finish().text
        for each in (engine, guessing)
    ]  # fmt: skip
    assert texts[0] == texts[1]
    assert texts[0].endswith("]")


@pytest.mark.parametrize("policy", ["guaranteed_no_evict", "max_utilization"])
def test_guesses_stay_within_a_tight_cache(engine: Engine, checkpoint: Path, policy: str) -> None:
    tight = start_engine(
        checkpoint, make_drafter=drafters(8, 1), kv_cache_bytes=300 * 512, scheduler_policy=policy,
        max_num_tokens=20,
    )  # fmt: skip
    assert _answers(tight, ignore_eos=True) == _answers(engine, ignore_eos=True)
    tight.stop()
