"""Answers side by side, and what they come to."""

import json
from typing import Any

import pytest

from controlplane.domain.rolling.answer_comparison import (
    Answer,
    Outcome,
    Pair,
    answer_of,
    first_difference,
    paired,
    unanswered,
    verdict,
)
from controlplane.domain.rolling.answer_guard import AnswerGuardSettings

SCHEMA = {"type": "object", "required": ["name"]}
FORMAT = {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}


def said(*texts: tuple[str, str]) -> list[Pair]:
    """Return pairs of what the candidate said, and the one in place."""
    return [
        paired(number, *(Answer(text=each, characters=len(each)) for each in both))
        for number, both in enumerate(texts, start=1)
    ]


def judged(pairs: list[Pair], *, prompts: int | None = None, **settings: Any) -> tuple[str, str]:
    held_to = AnswerGuardSettings(**{"min_equal_percent": 100, **settings})
    outcome = verdict(held_to, pairs, prompts=len(pairs) if prompts is None else prompts)
    return outcome.outcome, outcome.sentence


def completion(**message: Any) -> str:
    return json.dumps({"choices": [{"message": message}]})


@pytest.mark.parametrize(
    ("one", "other", "at"),
    [("", "", None), ("ab", "ab", None), ("ab", "aß", 1), ("ab", "abc", 2), ("", "x", 0)],
)
def test_the_first_difference_is_the_first_character_that_is_not_the_same(
    one: str, other: str, at: int | None
) -> None:
    assert first_difference(one, other) == first_difference(other, one) == at


def test_equal_answers_pass_and_as_many_as_asked_for_are_enough() -> None:
    pairs = said(("a", "a"), ("b", "b"), ("c", "c"), ("d", "x"))
    assert judged(pairs, min_equal_percent=75) == ("passed", "3 of 4 answers are equal.")
    assert judged(pairs, min_equal_percent=76) == (
        "worse", "3 of 4 answers are equal, and 76 % are to be. Different: prompt 4.",
    )  # fmt: skip


def test_the_length_of_all_answers_together_is_held_to_a_limit_at_its_edge() -> None:
    pairs = said(("a" * 60, "a" * 50), ("b" * 60, "b" * 50))
    holders = {"min_equal_percent": 0}
    assert judged(pairs, max_length_difference_percent=20, **holders)[0] == "passed"
    outcome, sentence = judged(pairs, max_length_difference_percent=19, **holders)
    assert outcome == "worse"
    assert "120 characters together, those of the deployment in place 100" in sentence
    assert sentence.endswith("Furthest: prompts 1, 2.")
    assert judged(said(("x", "")), max_length_difference_percent=1000, **holders)[0] == "worse"
    assert judged(said(("", "")), max_length_difference_percent=0)[0] == "passed"


def test_an_answer_that_breaks_its_schema_decides_only_where_that_is_asked_for() -> None:
    prompt = {"messages": [{"role": "user", "content": "Name?"}], "response_format": FORMAT}
    good = answer_of(completion(content='{"name": 1}'), prompt)
    bad = answer_of(completion(content='{"nam": 1}'), prompt)
    assert (good.is_valid, bad.is_valid) == (True, False)
    pairs = [paired(7, bad, good)]
    assert judged(pairs, min_equal_percent=0)[0] == "passed"
    outcome, sentence = judged(pairs, min_equal_percent=0, require_valid_schema=True)
    assert (outcome, "Invalid: prompt 7." in sentence) == ("worse", True)


def test_one_without_an_answer_leaves_all_unknown_and_is_said_with_its_side_and_reason() -> None:
    pairs = [*said(("a", "b")), paired(2, unanswered("It is away."), Answer(text="b"))]
    outcome, sentence = judged(pairs, prompts=5)
    assert outcome == Outcome.UNANSWERED
    assert sentence == (
        "Not answered: prompt 2 by the candidate (It is away). "
        "3 of 5 prompts were not asked any more."
    )
    both = paired(1, unanswered(""), unanswered("Slow"))
    assert "the candidate (Nothing came) and by the deployment" in judged([both])[1]
    assert judged([], prompts=1)[0] == Outcome.UNANSWERED


def test_of_many_prompts_ten_are_named_and_the_others_counted() -> None:
    assert judged(said(*[("a", "b")] * 12))[1].endswith("8, 9, 10 and 2 more.")


def test_calls_of_tools_are_compared_by_what_they_say_and_not_by_their_spelling() -> None:
    def called(arguments: str) -> str:
        call = {"id": arguments, "function": {"name": "look", "arguments": arguments}}
        return answer_of(completion(content=None, tool_calls=[call]), "Hi").text

    assert called('{"b": 1, "a": 2}') == called('{"a":2,"b":1}') == 'look({"a": 2, "b": 1})'
    assert called("{broken") == "look({broken)"


@pytest.mark.parametrize("output", [None, "", "[]", '{"choices": []}', '{"choices": [1]}', '"x"'])
def test_what_is_no_chat_completion_is_no_answer(output: str | None) -> None:
    assert answer_of(output, "Hi").failure.startswith("What came is no chat completion")
