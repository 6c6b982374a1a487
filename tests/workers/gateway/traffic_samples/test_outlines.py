"""Outlines: they repeat as their text does, and hold nothing of it."""

import json

import pytest

from workers.gateway.traffic_samples.outlines import outlined
from workers.gateway.traffic_samples.prompt_and_answer import PromptAndAnswer, prompt_and_answer_in
from workers.gateway.traffic_samples.sample_form import MARK, UnreadableSample, pack, unpack


def chat(**more: object) -> bytes:
    messages = [{"role": "user", "content": "copy this line"}]
    return json.dumps({"messages": messages, **more}).encode()


def test_equal_pieces_have_equal_numbers_over_prompt_and_answer() -> None:
    outline = outlined(PromptAndAnswer("copy this line", " copy this"))
    assert list(outline.prompt) == [0, 1, 2]
    assert list(outline.answer) == [3, 1]


def test_another_text_that_repeats_itself_alike_has_the_same_outline() -> None:
    one = outlined(PromptAndAnswer("key sk-live-4242 ada@example.com", "ada, sk-live-4242"))
    other = outlined(PromptAndAnswer("tag hm-mail-1313 bob@fortune.net", "bob, hm-mail-1313"))
    assert pack(one) == pack(other)


@pytest.mark.parametrize("tokens", [3, 9])
def test_a_text_has_as_many_numbers_as_the_engine_counted_tokens(tokens: int) -> None:
    words = PromptAndAnswer("international organisations ", "internationally")
    outline = outlined(words, tokens)
    assert abs(len(outline.prompt) + len(outline.answer) - tokens) <= 2


def test_only_the_end_of_a_long_prompt_and_the_beginning_of_a_long_answer_count() -> None:
    outline = outlined(PromptAndAnswer("first " * 40_000 + "last", "begin" + " word" * 40_000))
    assert len(outline.prompt) + len(outline.answer) < 60_000


def test_what_is_packed_is_read_again_and_what_is_torn_is_not() -> None:
    outline = outlined(PromptAndAnswer("a b a b", "b a"))
    packed = pack(outline)
    again = unpack(packed)
    assert [list(each) for each in again] == [list(each) for each in outline]
    for torn in (b"", packed[:10], packed[:-1], packed[len(MARK) :], packed[:16] + b"\0" * 9):
        with pytest.raises(UnreadableSample):
            unpack(torn)


@pytest.mark.parametrize(
    ("body", "answer", "is_stream", "said"),
    [
        (chat(), b'{"choices":[{"message":{"content":"line"}}]}', False, "line"),
        (b'{"prompt":"p"}', b'{"choices":[{"text":"t"}]}', False, "t"),
        (
            chat(stream=True),
            b'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n'
            b'data: {"choices":[{"index":1,"delta":{"content":"x"}}]}\n\n'
            b'data: {"choices":[{"index":0,"delta":{"content":"b"}}]}\n\ndata: [DONE]\n\n',
            True,
            "ab",
        ),
        (
            chat(tools=[{"type": "function"}]),
            b'{"choices":[{"message":{"content":null,"tool_calls":'
            b'[{"function":{"name":"f","arguments":"{}"}}]}}]}',
            False,
            "f{}",
        ),
        (b'{"prompt":[1,2]}', b'{"choices":[{"text":"t"}]}', False, None),
        (chat(), b"\x1f\x8b packed", False, None),
        (chat(), b'{"choices":[]}', False, None),
        (b"[]", b"{}", False, None),
        (b'{"messages":"no list"}', b'{"choices":[{"message":{"content":"x"}}]}', False, None),
        (chat(), b"[" * 100_000, False, None),
    ],
)
def test_what_was_answered_is_read_or_left(
    body: bytes, answer: bytes, is_stream: bool, said: str | None
) -> None:
    prompt_and_answer = prompt_and_answer_in(body, answer, is_stream=is_stream)
    assert (prompt_and_answer.answer if prompt_and_answer else None) == said
