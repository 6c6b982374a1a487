"""A question and its answer as one sample."""

from typing import Any

import pytest

from controlplane.domain.calibration_rows import OddPair, pair_of, read_columns

TURN = {"role": "user", "content": "Hello"}


@pytest.mark.parametrize(
    ("row", "column", "turns", "text"),
    [
        (
            {"prompt": "What is 2 + 2?", "completion": " Four."}, "prompt",
            [("user", "What is 2 + 2?"), ("assistant", " Four.")], "What is 2 + 2? Four.",
        ),
        (
            {"prompt": "Say it.", "response": "It."}, "prompt",
            [("user", "Say it."), ("assistant", "It.")], "Say it.It.",
        ),
        (
            {"instruction": "Translate.", "input": "Haus", "output": "House"}, "instruction",
            [("user", "Translate.\n\nHaus"), ("assistant", "House")],
            "Translate.\n\nHaus\n\nHouse",
        ),
        (
            {"instruction": "Name a city.", "input": "", "output": "Paris"}, "instruction",
            [("user", "Name a city."), ("assistant", "Paris")], "Name a city.\n\nParis",
        ),
    ],
)  # fmt: skip
def test_a_pair_is_two_turns_or_one_text(
    row: dict[str, Any], column: str, turns: list[tuple[str, str]], text: str
) -> None:
    pair = pair_of(row, column)
    assert [(each["role"], each["content"]) for each in pair.turns] == turns
    assert pair.text == text
    assert not pair.is_empty


def test_halves_may_be_lists_of_turns() -> None:
    answer = {"role": "assistant", "content": "Good day"}
    pair = pair_of({"prompt": [TURN], "completion": [answer]}, "prompt")
    assert pair.turns == [TURN, answer]
    assert not pair.is_text


@pytest.mark.parametrize("answer", ["", "  \n", None, []])
def test_a_question_without_words_in_its_answer_is_empty(answer: Any) -> None:
    assert pair_of({"prompt": "Hello?", "completion": answer}, "prompt").is_empty


@pytest.mark.parametrize(
    ("row", "column", "words"),
    [
        ({"prompt": "a"}, "prompt", "`prompt` and no `completion` or `response`"),
        ({"instruction": "a", "input": "b"}, "instruction", "no `output` or `response`"),
        ({"prompt": 3, "completion": "b"}, "prompt", "`prompt` that is neither a text nor"),
        ({"prompt": "a", "completion": {"a": 1}}, "prompt", "`completion` that is neither"),
        ({"instruction": [TURN], "input": "b", "output": "c"}, "instruction", "`input` beside"),
    ],
)
def test_what_is_no_pair_says_why(row: dict[str, Any], column: str, words: str) -> None:
    with pytest.raises(OddPair, match=words):
        pair_of(row, column)


def test_every_column_of_a_form_is_read() -> None:
    assert read_columns() == {
        "text", "messages", "conversations", "prompt", "completion", "response", "instruction",
        "input", "output",
    }  # fmt: skip
