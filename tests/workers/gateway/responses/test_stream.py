"""The events of a chat become those of a response, whatever it is made of and however it ends."""

import json

from workers.gateway.responses.stream import ResponseEvents


def told_of(*chunks: object, done: bool = True) -> list[dict]:
    """Return the events that are made of a chat's chunks."""
    text = b"".join(b"data: %b\n\n" % json.dumps(chunk).encode() for chunk in chunks)
    events = ResponseEvents({"input": "hi"}).feed(text + b"data: [DONE]\n\n" * done)
    return [json.loads(each.split(b"data: ")[1]) for each in events.split(b"\n\n") if each]


def delta(**fields: object) -> dict:
    return {"choices": [{"delta": fields}]}


def test_thoughts_calls_and_text_are_items_of_their_own_in_their_order():
    def call(index: int, arguments: str, **more: object) -> dict:
        function = {"arguments": arguments} | more
        return delta(tool_calls=[{"index": index, "id": f"c{index}", "function": function}])

    events = told_of(
        delta(reasoning_content="hm"), delta(reasoning_content="m"), delta(content="a"),
        call(0, "{", name="f"), call(0, "}"), call(1, "{}", name="g"),
        {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]},
        {"choices": [], "usage": {"prompt_tokens": 2, "completion_tokens": 3}},
    )  # fmt: skip

    output = events[-1]["response"]["output"]
    assert [(each["type"], each["status"]) for each in output] == [
        ("reasoning", "completed"), ("message", "completed"),
        ("function_call", "completed"), ("function_call", "completed"),
    ]  # fmt: skip
    assert output[0]["content"][0]["text"] == "hmm"
    calls = [(each["call_id"], each["name"], each["arguments"]) for each in output[2:]]
    assert calls == [("c0", "f", "{}"), ("c1", "g", "{}")]
    added = [each for each in events if each["type"] == "response.output_item.added"]
    assert [each["output_index"] for each in added] == [0, 1, 2, 3]
    assert [each["item"]["id"] for each in added] == [each["id"] for each in output]
    assert events[-1]["type"] == "response.completed"
    assert events[-1]["response"]["usage"]["total_tokens"] == 5


def test_an_answer_without_a_word_is_an_empty_message():
    events = told_of({"choices": [{"delta": {"role": "assistant"}, "finish_reason": "stop"}]})

    assert events[-1]["response"]["output"][0]["content"][0]["text"] == ""


def test_an_error_of_the_engine_is_the_last_event():
    events = told_of(delta(content="a"), {"error": {"message": "broke", "code": "x"}}, delta())

    assert (events[-1]["type"], events[-1]["message"]) == ("error", "broke")


def test_nothing_is_told_as_complete_before_the_end_is_said():
    kinds = [each["type"] for each in told_of(delta(content="a"), done=False)]

    assert kinds[-1] == "response.output_text.delta"
