"""Guesses save forwards and change nothing."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from controlplane.domain.draft_positions import POSITIONS, series_of
from controlplane.domain.runtimes.native import metrics
from tests.workers.engine.asking import Asked, start_engine
from tests.workers.engine.reading_metrics import metric
from workers.engine.engine import Engine
from workers.engine.grammar import Grammar
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
    request = [Asked(engine, prompt, max_tokens=150, **how) for prompt in PROMPTS]
    return [one.finish().tokens for one in request]


def test_greedy_answers_are_those_without_guesses(engine: Engine, guessing: Engine) -> None:
    accepted = metric(guessing, "engine_accepted_draft_tokens_total")
    assert _answers(guessing, ignore_eos=True) == _answers(engine, ignore_eos=True)
    assert _answers(guessing) == _answers(engine)
    assert metric(guessing, "engine_accepted_draft_tokens_total") > accepted
    assert metric(guessing, "engine_kv_cache_used_ratio") == 0


def test_drafts_are_counted_by_how_far_they_were_right(guessing: Engine) -> None:
    before = metrics.read(guessing.metrics.expose().decode())
    assert _answers(guessing, ignore_eos=True)
    content = metrics.read(guessing.metrics.expose().decode())
    grown = {name: content[name] - before.get(name, 0) for name in content}
    to = [grown[f"{series_of(position)}_total"] for position in POSITIONS]
    assert grown["drafts_total"] >= to[0] > 0
    assert to == sorted(to, reverse=True)
    # Each accepted token is the first, or stands behind another one.
    assert to[0] <= grown["accepted_draft_tokens_total"]


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


FORM = {
    "type": "object",
    "properties": {
        "the_first_long_name": {"enum": ["one", "two"]},
        "another_long_name": {"type": "integer", "minimum": 0, "maximum": 99},
        "the_last_long_name": {"enum": ["yes", "no"]},
    },
    "required": ["the_first_long_name", "another_long_name", "the_last_long_name"],
    "additionalProperties": False,
}


def _filled(engine: Engine, **how: object) -> list[int]:
    form = engine.grammars.compile(FORM, field="x")
    return Asked(engine, PROMPTS[1], max_tokens=90, grammar=form, **how).finish().tokens


@pytest.mark.parametrize("how", [{}, {"temperature": 1.0, "seed": 4}])
def test_what_a_schema_forces_shares_a_forward_and_changes_nothing(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, how: dict[str, object]
) -> None:
    before = metric(engine, "engine_forced_tokens_total")
    with_forced = _filled(engine, **how)
    shared = metric(engine, "engine_forced_tokens_total") - before
    monkeypatch.setattr(Grammar, "forced", lambda _: ())
    assert _filled(engine, **how) == with_forced
    assert shared > len(with_forced) / 2


def test_a_draft_ends_where_the_grammar_forbids_it(engine: Engine) -> None:
    form = engine.grammars.compile({"enum": ["one", "two"]}, field="x")
    right = engine.codec.encode('"one"')
    for token in right[:1]:
        form.advance(token)
    assert list(form.allowed([*right[1:2], 7, 7])) == list(right[1:2])
    assert list(form.copy(starts_after=3).allowed([7, 7])) == [7, 7]
    assert list(form.copy(starts_after=3).forced()) == []


def test_a_grammar_that_has_stopped_costs_its_own_row_alone(engine: Engine) -> None:
    stopped = engine.grammars.compile_choice(["one", "two"], field="x")
    stopped.matcher.consume_token(7)
    assert list(stopped.forced()) == list(stopped.allowed([7])) == []
    with engine._scheduler.changed:  # both are in line before the first step
        good = Asked(engine, PROMPTS[1], max_tokens=4, ignore_eos=True)
        bad = Asked(engine, PROMPTS[1], max_tokens=4, grammar=stopped)
    assert (bad.finish().failure or "").startswith("the grammar stopped: ")
    assert good.finish().failure is None


class _Noting:
    """A drafter that guesses nothing and keeps what it is asked."""

    def __init__(self, asked: list[int]) -> None:
        self._asked = asked

    def propose(self, tokens: Sequence[int], most: int) -> Sequence[int]:
        self._asked.append(len(tokens))
        return ()

    def shorten(self, kept: int) -> None:
        return


def test_a_started_engine_has_drafted_once_so_that_no_request_waits_for_the_compiler(
    checkpoint: Path,
) -> None:
    requests: list[int] = []
    start_engine(checkpoint, make_drafter=lambda: _Noting(requests)).stop()
    assert requests == [2]


def test_a_share_of_requests_goes_without_guesses_and_answers_the_same(
    engine: Engine, checkpoint: Path
) -> None:
    half = start_engine(checkpoint, make_drafter=drafters(8, 1), undrafted_share=0.5)
    answers = [Asked(half, REPEATING, max_tokens=20, ignore_eos=True) for _ in range(12)]
    plain = Asked(engine, REPEATING, max_tokens=20, ignore_eos=True).finish().tokens
    assert [one.finish().tokens for one in answers] == [plain] * 12
    drafted = sum(one.answer.is_drafted for one in answers)
    assert 2 < drafted < 10
    with_guesses = metric(half, "engine_drafted_answer_tokens_total")
    assert with_guesses == 19 * drafted
    assert metric(half, "engine_undrafted_answer_tokens_total") == 19 * (12 - drafted)
    half.stop()
