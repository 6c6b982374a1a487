"""Media that a request names by their place never get as far as an engine."""

import json
from typing import Any

import pytest

from tests.workers.gateway.test_request_body import DEPLOYMENT, WHO
from workers.gateway.refusals import Refused
from workers.gateway.request_body import prepare

PIXEL = "data:image/png;base64,iVBORw0KGgo="
SAID = {"role": "user", "content": "What is at http://10.0.0.1/?"}


def part(**fields: Any) -> dict[str, Any]:
    return {
        "messages": [SAID, {"role": "user", "content": [{"type": "text", "text": "x"}, fields]}]
    }


def refused(body: dict[str, Any], route: str = "/v1/chat/completions") -> str:
    with pytest.raises(Refused) as raised:
        prepare(json.dumps(body).encode(), route, DEPLOYMENT, WHO)
    assert raised.value.refusal.status == 400
    return str(raised.value.refusal.message)


@pytest.mark.parametrize("place", [
    "http://169.254.169.254/latest", "https://example.com/a.png", "HTTP://10.0.0.1", "/etc/passwd",
    "file:///etc/passwd", "ftp://10.0.0.1/a", " data:image/png;base64,AA==", "//10.0.0.1/a", "",
])  # fmt: skip
@pytest.mark.parametrize("form", [
    lambda place: part(type="image_url", image_url={"url": place}),
    lambda place: part(type="image_url", image_url=place),
    lambda place: part(image_url=place),
    lambda place: part(type="image", image=place),
    lambda place: part(type="video_url", video_url={"url": place, "uuid": "a"}),
    lambda place: part(type="audio_url", audio_url={"url": place}),
    lambda place: part(type="image", source={"type": "url", "url": place}),
    lambda place: part(type="tool_result", content=[{"type": "image", "source": {"url": place}}]),
    lambda place: {"input": [{"role": "user", "content": [{"type": "input_image",
                                                           "image_url": place}]}]},
    lambda place: {"input": [{"type": "function_call_output", "output": [{"file_url": place}]}]},
    lambda place: {"query": "x", "documents": {"content": [{"image_url": {"url": place}}]}},
    lambda place: {"documents": [{"text": "x", "content": [{"image_url": {"url": place}}]}]},
    lambda place: {"documents": [{"type": "image_url", "image_url": {"url": place}}]},
    lambda place: {"data_1": "x", "data_2": [{"content": [{"image_url": {"url": place}}]}]},
])  # fmt: skip
def test_a_place_outside_the_request_is_refused_where_it_stands(form: Any, place: str) -> None:
    assert "Send the bytes themselves" in refused(form(place), "/v1/responses")


def test_the_refusal_names_the_field_and_its_value() -> None:
    statement = refused(part(type="image_url", image_url={"url": "http://10.0.0.1/a"}))
    assert statement.startswith('`messages[1].content[1].image_url.url` is `"http://10.0.0.1/a"`')


def test_a_route_of_another_form_is_looked_at_too() -> None:
    body = part(type="image_url", image_url={"url": "http://10.0.0.1/a"})
    assert "Send the bytes" in refused(body, "/tokenize")
    escaped = json.dumps(body).replace('"url"', '"\\u0075rl"').replace("image_", "im\\u0061ge_")
    with pytest.raises(Refused):
        prepare(escaped.encode(), "/tokenize", DEPLOYMENT, WHO)


@pytest.mark.parametrize("body", [
    {"messages": [SAID]},
    part(type="image_url", image_url={"url": PIXEL, "detail": "low"}),
    part(type="image_url", image_url={"url": PIXEL.replace("data:", "DATA:")}),
    part(type="input_audio", input_audio={"data": "UklGRg==", "format": "wav"}),
    part(type="image", source={"type": "base64", "media_type": "image/png", "data": "iVBORw"}),
    part(type="tool_use", id="a", name="fetch", input={"url": "http://10.0.0.1/"}),
    {"messages": [{"role": "assistant", "tool_calls": [{"type": "function", "function": {
        "name": "fetch", "arguments": "{\"url\": \"http://10.0.0.1/\"}"}}]}]},
    {"messages": [SAID], "tools": [{"type": "function", "function": {"name": "f", "parameters": {
        "properties": {"url": {"type": "string", "default": "http://10.0.0.1/"}}}}}]},
    {"messages": [SAID], "metadata": {"url": "https://example.com"}},
    {"input": "http://10.0.0.1/"},
    {"query": "http://10.0.0.1/", "documents": ["http://10.0.0.1/"]},
    {"messages": [SAID], "documents": [{"title": "a", "text": "b", "url": "https://example.com"}]},
])  # fmt: skip
def test_bytes_and_addresses_in_words_pass(body: dict[str, Any]) -> None:
    prepared = prepare(json.dumps(body).encode(), "/v1/chat/completions", DEPLOYMENT, WHO)
    assert json.loads(prepared.body).items() >= body.items()


def test_a_route_that_a_config_opens_by_name_takes_what_it_takes() -> None:
    body = json.dumps(part(image_url="http://10.0.0.1/")).encode()
    assert prepare(body, "/echo", DEPLOYMENT, WHO).body == body
