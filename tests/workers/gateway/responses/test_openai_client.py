"""`/v1/responses` with the official client, through the gateway, at the native engine."""

from collections.abc import Iterator
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from tests.workers.gateway.stage.connections import NO_AUTHORITIES
from tests.workers.gateway.stage.house import House
from tests.workers.gateway.stage.routes import CHAT, KEY
from tests.workers.runtimes.native.engine_here import EngineHere
from tests.workers.runtimes.native.tool_checkpoint import make_tool_checkpoint

pytestmark = pytest.mark.engine
ASK: dict[str, Any] = {
    "model": "any", "instructions": "Be short.", "input": "Which colour has the sky?",
    "temperature": 0.0,
}  # fmt: skip
WEATHER: dict[str, Any] = {
    "type": "function", "name": "get_weather", "description": "Get current weather",
    "strict": True,
    "parameters": {
        "type": "object", "properties": {"unit": {"enum": ["celsius", "fahrenheit"]}},
        "required": ["unit"], "additionalProperties": False,
    },
}  # fmt: skip
FORCED = {"type": "function", "name": "get_weather"}


class Sky(BaseModel):
    colour: Literal["blue", "grey"]
    is_clear: bool


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineHere]:
    folder = make_tool_checkpoint(tmp_path_factory.mktemp("tools") / "tiny")
    with EngineHere(folder) as engine:
        yield engine


@pytest.fixture
def client(house: House, engine: EngineHere):
    import openai

    house.publish(engine, route_table=_native(), translates_responses=True)
    url = house.gateway().url + CHAT.removesuffix("/chat/completions")
    http = openai.DefaultHttpxClient(verify=NO_AUTHORITIES)
    with openai.OpenAI(base_url=url, api_key=KEY, max_retries=0, http_client=http) as client:
        yield client


def test_a_text_is_the_chats_and_is_metered_under_its_own_route(house, client):
    answer = client.responses.with_raw_response.create(**ASK, max_output_tokens=6)
    response = answer.parse()
    chat = client.chat.completions.create(
        model="any", temperature=0, max_tokens=6,
        messages=[
            {"role": "system", "content": ASK["instructions"]},
            {"role": "user", "content": ASK["input"]},
        ],
    )  # fmt: skip

    assert response.output_text == chat.choices[0].message.content
    assert (response.status, response.incomplete_details.reason) == (
        "incomplete", "max_output_tokens",
    )  # fmt: skip
    assert response.usage.input_tokens == chat.usage.prompt_tokens
    assert response.usage.output_tokens == 6
    assert (response.store, response.instructions) == (False, ASK["instructions"])
    record = house.closed_record(answer.headers["x-request-id"])
    assert record["route"] == "/v1/responses"
    assert (record["prompt_tokens"], record["completion_tokens"]) == (chat.usage.prompt_tokens, 6)


def test_a_stream_tells_the_same_in_the_official_events(client):
    whole = client.responses.create(**ASK, max_output_tokens=6)

    events = list(client.responses.create(**ASK, max_output_tokens=6, stream=True))

    assert [event.sequence_number for event in events] == list(range(len(events)))
    kinds = [event.type for event in events if not event.type.endswith(".delta")]
    assert kinds == [
        "response.created", "response.in_progress", "response.output_item.added",
        "response.content_part.added", "response.output_text.done", "response.content_part.done",
        "response.output_item.done", "response.incomplete",
    ]  # fmt: skip
    text = "".join(event.delta for event in events if event.type.endswith("text.delta"))
    last = events[-1].response
    assert text == last.output_text == whole.output_text
    assert _used(last) == _used(whole)
    assert {event.response.id for event in events if hasattr(event, "response")} == {last.id}


def _used(response: Any) -> tuple[int, int, int]:
    """What it used; how much of it the engine still had depends on who asked before."""
    used = response.usage
    return used.input_tokens, used.output_tokens, used.total_tokens


def test_a_tool_is_called_and_answered_in_the_next_input(client):
    body = {**ASK, "tools": [WEATHER], "tool_choice": FORCED}
    with client.responses.stream(**body) as stream:
        (call,) = stream.get_final_response().output

    assert (call.type, call.name, call.status) == ("function_call", "get_weather", "completed")
    assert call.parsed_arguments["unit"] in ("celsius", "fahrenheit")
    again = [
        {"role": "user", "content": "What is the weather?"},
        {"type": "function_call", "call_id": call.call_id, "name": call.name,
         "arguments": call.arguments},
        {"type": "function_call_output", "call_id": call.call_id, "output": "12 degrees"},
    ]  # fmt: skip
    answer = client.responses.create(**ASK | {"input": again}, tools=[WEATHER], max_output_tokens=4)
    assert answer.usage.output_tokens == 4


def test_a_schema_is_parsed_by_the_client(client):
    response = client.responses.parse(**ASK, text_format=Sky)

    assert isinstance(response.output_parsed, Sky)
    assert response.status == "completed"


def test_what_would_be_kept_is_refused_by_name(client):
    import openai

    with pytest.raises(openai.BadRequestError) as refused:
        client.responses.create(**ASK, store=True)

    assert refused.value.param == "store"
    assert refused.value.code == "unsupported_parameter"
    assert "`store` is `true`. Answers are not kept here" in refused.value.message


def test_a_refusal_of_the_engine_comes_through(client):
    import openai

    with pytest.raises(openai.BadRequestError, match="temperature"):
        client.responses.create(**ASK | {"temperature": 9.0})


def _native() -> str:
    from controlplane.domain.runtimes.native.capabilities import VERSION

    return f"native {VERSION}"
