from tests.workers.gateway.conftest import USAGE
from tests.workers.gateway.stage import CHAT, Call, until


def answers(call: Call) -> None:
    call.answer({"id": "1", "choices": [{"message": {"content": "hi"}}], "usage": USAGE})


def test_an_answer_comes_back_whole_and_is_metered(house, served, http):
    gateway, engine = served(answers)

    answer = http.post(gateway.url + CHAT, json={"model": "anything", "messages": []})

    assert answer.status_code == 200
    assert answer.json()["choices"][0]["message"]["content"] == "hi"
    assert engine.calls[0].path == "/v1/chat/completions"
    assert engine.calls[0].json()["model"] == "served"
    record = until(lambda: house.plane.closed_records())[0]
    assert record["request_id"] == answer.headers["x-request-id"]
    assert record["request_id"] == answer.headers["x-baseten-request-id"]
    assert (record["prompt_tokens"], record["completion_tokens"]) == (7, 3)
