"""The official client, unmodified, against a real engine process."""

import json

import openai
import pytest
from pydantic import BaseModel, Field

from tests.workers.runtimes.native.server import EngineServer, counts

pytestmark = [pytest.mark.process, pytest.mark.engine]

MESSAGES = [{"role": "user", "content": "Hello"}]
ASK = {"model": "whatever", "messages": MESSAGES, "max_tokens": 12, "temperature": 0}


class Person(BaseModel):
    name: str = Field(max_length=8)
    age: int = Field(ge=0, le=150)


def test_chat_answers(server: EngineServer) -> None:
    answer = server.openai.chat.completions.create(**ASK)
    choice = answer.choices[0]
    assert answer.id.startswith("chatcmpl-")
    assert (answer.object, answer.model) == ("chat.completion", "whatever")
    assert (choice.message.role, choice.finish_reason) == ("assistant", "length")
    assert answer.usage is not None
    assert answer.usage.completion_tokens == 12
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + 12


def test_a_stream_joins_to_the_same_answer(server: EngineServer) -> None:
    whole = server.openai.chat.completions.create(**ASK)
    chunks = list(
        server.openai.chat.completions.create(
            **ASK, stream=True, stream_options={"include_usage": True}
        )
    )
    choices = [chunk.choices[0] for chunk in chunks[:-1]]
    assert "".join(one.delta.content or "" for one in choices) == whole.choices[0].message.content
    assert choices[0].delta.role == "assistant"
    assert [one.finish_reason for one in choices if one.finish_reason] == ["length"]
    assert all(chunk.usage is None for chunk in chunks[:-1])
    assert (chunks[-1].choices, counts(chunks[-1].usage)) == ([], counts(whole.usage))
    assert len({chunk.id for chunk in chunks}) == 1


def test_plain_completions_stream_and_answer(server: EngineServer) -> None:
    ask = {"model": "tiny", "prompt": "The sky", "max_tokens": 8, "temperature": 0}
    whole = server.openai.completions.create(**ask)
    pieces = [chunk.choices[0] for chunk in server.openai.completions.create(**ask, stream=True)]
    assert whole.object == "text_completion"
    assert "".join(piece.text for piece in pieces) == whole.choices[0].text
    assert pieces[-1].finish_reason == "length"


def test_token_ids_are_a_prompt(server: EngineServer) -> None:
    ask = {"model": "tiny", "max_tokens": 4, "temperature": 0}
    flat = server.openai.completions.create(prompt=[5, 6, 7], **ask)
    nested = server.openai.completions.create(prompt=[[5, 6, 7]], **ask)
    assert flat.choices[0].text == nested.choices[0].text
    assert flat.usage is not None
    assert flat.usage.prompt_tokens == 3


def test_a_seed_repeats_an_answer(server: EngineServer) -> None:
    ask = {**ASK, "temperature": 1.3, "seed": 4}
    first, second = (server.openai.chat.completions.create(**ask) for _ in range(2))
    assert first.choices[0].message.content == second.choices[0].message.content


def test_json_object_and_pydantic_parse(server: EngineServer) -> None:
    ask = {**ASK, "max_tokens": 100, "seed": 1, "temperature": 1.2}
    parsed = server.openai.chat.completions.parse(**ask, response_format=Person)
    assert parsed.choices[0].message.parsed is not None
    free = server.openai.chat.completions.create(
        **{**ask, "max_tokens": 100}, response_format={"type": "json_object"}
    )
    if free.choices[0].finish_reason == "stop":
        assert isinstance(json.loads(free.choices[0].message.content or ""), dict)


def test_errors_arrive_as_the_clients_own(server: EngineServer) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        server.openai.completions.create(model="tiny", prompt="a", suffix="b")
    assert (refused.value.param, refused.value.code) == ("suffix", "unsupported_parameter")


def test_the_model_list_has_the_served_name(server: EngineServer) -> None:
    assert [model.id for model in server.openai.models.list()] == ["tiny"]
