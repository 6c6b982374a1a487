"""What a message to the native engine may hold."""

import pytest
from pydantic import ValidationError

from workers.engine.server.messages import Message


def test_a_template_that_goes_through_arguments_by_name_gets_an_object() -> None:
    call = {"function": {"name": "f", "arguments": "{broken"}}
    message = Message(role="assistant", tool_calls=[call])
    assert message.has_odd_arguments
    (shown,) = message.to_template()["tool_calls"]
    (wrapped,) = message.to_template(wraps_arguments=True)["tool_calls"]
    assert shown["function"]["arguments"] == "{broken"
    assert wrapped["function"]["arguments"] == {"arguments": "{broken"}


def test_parts_of_text_are_one_text() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert Message(role="user", content=parts).content == "ab"


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
        {"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}},
        {"image_url": "http://10.0.0.1/"},
        "http://10.0.0.1/",
    ],
)
def test_a_part_that_is_no_text_is_refused_by_its_type(part: object) -> None:
    with pytest.raises(ValidationError, match="this model reads `text` alone"):
        Message(role="user", content=[part])
