"""Beginnings of prompts: what shares its text shares its hashes, and nothing else does."""

from typing import Any

import pytest

from workers.gateway.choice.prompts import BLOCK_LETTERS, LONG_LETTERS, MOST_BLOCKS, prompt_of

SYSTEM = {"role": "system", "content": "You are terse. " * 60}
QUESTION = {"role": "user", "content": "What is a lease?"}
ANSWER = {"role": "assistant", "content": "A timed claim."}
CALL = {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "type": "function"}]}


def blocks(*messages: Any, tenant: str = "key", **body: Any) -> list[int]:
    prompt = prompt_of({"messages": list(messages), **body}, tenant)
    assert prompt is not None
    return prompt.blocks


def home(*messages: Any) -> int:
    prompt = prompt_of({"messages": list(messages)}, "key")
    assert prompt is not None
    return prompt.home


def shared(one: list[int], other: list[int]) -> int:
    return sum(a == b for a, b in zip(one, other, strict=False))


def test_a_conversation_that_goes_on_begins_as_it_did() -> None:
    before, after = blocks(SYSTEM, QUESTION), blocks(SYSTEM, QUESTION, ANSWER, CALL, QUESTION)
    assert after[: len(before)] == before
    assert len(after) == len(before) + 3


@pytest.mark.parametrize(
    "other",
    [
        {"tenant": "other"},
        {"model": "an-adapter"},
        {"tools": [{"type": "function", "function": {"name": "f"}}]},
        {"system": "Speak French."},
    ],
)
def test_what_stands_before_the_first_message_parts_all_of_it(other: dict[str, Any]) -> None:
    assert shared(blocks(SYSTEM), blocks(SYSTEM, **other)) == 0


def test_who_says_it_is_part_of_it() -> None:
    as_user = {**SYSTEM, "role": "user"}
    assert shared(blocks(SYSTEM), blocks(as_user)) == 1


def test_a_long_text_is_known_up_to_the_block_in_which_it_differs() -> None:
    text = "x" * (5 * BLOCK_LETTERS)
    one = prompt_of({"prompt": text + "one"}, "key")
    other = prompt_of({"prompt": text + "other"}, "key")
    assert one is not None
    assert other is not None
    assert shared(one.blocks, other.blocks) == 1 + 5
    assert one.ends == [0, *(BLOCK_LETTERS * each for each in range(1, 6)), len(text) + 3]


def test_of_a_prompt_without_end_only_the_first_part_is_looked_at() -> None:
    prompt = prompt_of({"prompt": "x" * (1000 * BLOCK_LETTERS)}, "key")
    assert prompt is not None
    assert len(prompt.blocks) == len(prompt.ends) == MOST_BLOCKS


@pytest.mark.parametrize("body", [{}, {"messages": []}, {"prompt": ""}])
def test_what_says_nothing_has_no_beginnings(body: dict[str, Any]) -> None:
    assert prompt_of(body, "key") is None


@pytest.mark.parametrize(
    "body", [{"messages": "not a list"}, {"messages": [1, {}, {"content": [1]}]}, {"prompt": [1]}]
)
def test_what_makes_no_sense_begins_somehow(body: dict[str, Any]) -> None:
    assert prompt_of(body, "key") is not None


@pytest.mark.parametrize(("letters", "others"), [(LONG_LETTERS - 1, 2), (LONG_LETTERS, 0)])
def test_of_a_short_one_what_stands_before_a_users_words_may_be_others_too(
    letters: int, others: int
) -> None:
    question = {"role": "user", "content": "x" * (letters - 2)}
    prompt = prompt_of({"messages": [{"role": "system", "content": "ab"}, question]}, "key")
    assert prompt is not None
    assert (prompt.is_long, prompt.others_letters) == (not others, others)


def test_a_conversation_has_one_home_however_it_goes_on_and_others_have_their_own() -> None:
    first, later = home(SYSTEM, QUESTION), home(SYSTEM, QUESTION, ANSWER, QUESTION)
    assert first == later != home(SYSTEM, {"role": "user", "content": "And a gate?"})
    assert first == 4532110557981122600  # the same in every process
