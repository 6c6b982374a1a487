"""What `/v1/responses` asks is asked as a chat, or refused by name with what to do."""

import pytest

from workers.gateway.refusals import Refused
from workers.gateway.responses.chat_request import chat_request


def test_items_become_the_messages_of_a_chat():
    call = {"type": "function_call", "call_id": "c1", "name": "now", "arguments": "{}"}
    chat = chat_request(
        {
            "instructions": "Be short.",
            "input": [
                {"role": "developer", "content": "Speak Dutch."},
                {"type": "message", "role": "user", "content": [
                    {"type": "input_text", "text": "What is this?"},
                    {"type": "input_image", "image_url": "data:image/png;base64,AA"}]},
                {"type": "reasoning", "id": "rs_1", "summary": []},
                {"role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
                call, call | {"call_id": "c2"},
                {"type": "function_call_output", "call_id": "c1", "output": "noon"},
            ],
        }
    )  # fmt: skip
    function = {"name": "now", "arguments": "{}"}
    image = {"url": "data:image/png;base64,AA", "detail": "auto"}

    assert chat == {
        "messages": [
            {"role": "system", "content": "Be short."},
            {"role": "developer", "content": "Speak Dutch."},
            {"role": "user", "content": [
                {"type": "text", "text": "What is this?"},
                {"type": "image_url", "image_url": image}]},
            {"role": "assistant", "content": [{"type": "text", "text": "I look."}],
             "tool_calls": [
                {"id": "c1", "type": "function", "function": function},
                {"id": "c2", "type": "function", "function": function}]},
            {"role": "tool", "tool_call_id": "c1", "content": "noon"},
        ]
    }  # fmt: skip


def test_settings_have_the_names_of_a_chat():
    allowed = {
        "type": "allowed_tools",
        "mode": "auto",
        "tools": [{"type": "function", "name": "f"}],
    }
    schema = {"type": "json_schema", "name": "n", "schema": {}, "strict": True}
    chat = chat_request(
        {
            "model": "m", "input": "hi", "max_output_tokens": 5, "temperature": 0.1, "top_p": 0.2,
            "stream": True, "store": False, "user": "u", "metadata": {"a": "b"}, "reasoning": None,
            "tools": [{"type": "function", "name": "f", "parameters": {}, "strict": None}],
            "tool_choice": allowed, "parallel_tool_calls": False, "text": {"format": schema},
        }
    )  # fmt: skip

    assert chat == {
        "model": "m", "messages": [{"role": "user", "content": "hi"}], "max_completion_tokens": 5,
        "temperature": 0.1, "top_p": 0.2, "stream": True, "stream_options": {"include_usage": True},
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}],
        "tool_choice": {"type": "allowed_tools", "allowed_tools": {
            "mode": "auto", "tools": [{"type": "function", "function": {"name": "f"}}]}},
        "parallel_tool_calls": False,
        "response_format": {"type": "json_schema", "json_schema": {
            "name": "n", "schema": {}, "strict": True}},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("sent", "place", "words"),
    [
        ({"previous_response_id": "resp_1"}, "previous_response_id", "the whole conversation"),
        ({"store": True}, "store", "`store: false` or nothing"),
        ({"background": True}, "background", "Answers are not fetched later here"),
        ({"conversation": "conv_1"}, "conversation", "Answers are not kept here"),
        ({"reasoning": {"effort": "high"}}, "reasoning", "leave it out"),
        ({"tools": [{"type": "web_search"}]}, "tools[0].type", "offer a `function`"),
        ({"tools": [{"type": "mcp"}]}, "tools[0].type", "runs no tools of its own"),
        ({"tool_choice": {"type": "mcp"}, "tools": [{"type": "function"}]}, "tool_choice", "Send"),
        ({"input": [{"type": "item_reference", "id": "1"}]}, "input[0].type", "nor keeps"),
        ({"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "f"}]}]},
         "input[0].content[0].type", "no files are kept here"),
        ({"input": [{"role": "robot", "content": "x"}]}, "input[0].role", "Send `user`"),
        ({"input": []}, "input", "a list of items"),
        ({"input": [7]}, "input[0]", "Send an object"),
        ({"text": {"format": {"type": "xml"}}}, "text.format", "`json_schema`"),
        ({"temprature": 1}, "temprature", "no field of `/v1/responses`"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_here_is_refused_by_name_with_what_to_do(sent, place, words):
    with pytest.raises(Refused) as refused:
        chat_request({"input": "hi"} | sent)

    refusal = refused.value.refusal
    assert (refusal.status, refusal.param) == (400, place)
    assert f"`{place}`" in refusal.message
    assert words in refusal.message
