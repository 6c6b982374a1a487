"""What a client and an operator see of the choice among replicas."""

from typing import Any

import httpx

from tests.waiting import wait_for
from tests.workers.gateway.stage.engine import Call
from tests.workers.gateway.stage.house import House
from tests.workers.gateway.stage.routes import CHAT, METRICS_KEY
from tests.workers.gateway.stage.scripts import answers
from tests.workers.gateway.test_tracing import Kept
from workers.gateway.tracing import Tracing

SYSTEM = {"role": "system", "content": "You are terse. " * 60}


def conversation(number: int, turns: int) -> dict[str, Any]:
    said = [{"role": "user", "content": f"Question {number}.{turn}"} for turn in range(turns)]
    return {"messages": [SYSTEM, *said]}


def test_turns_of_a_conversation_reach_one_replica_and_the_page_says_why(
    house: House, http: httpx.Client
) -> None:
    engines = [house.engine(answers) for _ in range(3)]
    house.publish(*engines)
    gateway, spans = house.gateway(), Kept()
    gateway.inner.tracing = Tracing(spans, clock=house.clock)
    for turns in (1, 2, 3):
        http.post(gateway.url + CHAT, json=conversation(0, turns))
    http.post(gateway.url + CHAT, json={"messages": [{"role": "user", "content": "hi"}]})
    assert sorted(len(each.calls) for each in engines)[-1] >= 3
    told = http.get(
        f"{gateway.url}/metrics", headers={"authorization": f"Bearer {METRICS_KEY}"}
    ).text
    counted = {
        line.partition('reason="')[2].partition('"')[0]: float(line.split()[-1])
        for line in told.splitlines()
        if line.startswith("gateway_replica_choices_total{")
    }
    assert counted == {"new_prefix": 1, "prefix": 2, "least_loaded": 1}
    wait_for(lambda: len(spans.told) == 12, what="the spans of four requests")
    choices = [each.attributes.get("enginehouse.replica_choice") for each in spans.told[2::3]]
    assert choices == ["new_prefix", "prefix", "prefix", "least_loaded"]


def test_an_engine_that_has_dropped_a_prompt_is_told_of_and_not_believed_again(
    house: House, http: httpx.Client
) -> None:
    cached = [100, 1900, 0]

    def answers_cached(call: Call) -> None:
        details = {"cached_tokens": cached.pop(0)}
        usage = {"prompt_tokens": 2000, "completion_tokens": 1, "prompt_tokens_details": details}
        call.begin_stream()
        call.event({"id": "c", "choices": [], "usage": usage})
        call.end_stream()

    house.publish(*[house.engine(answers_cached) for _ in range(3)])
    gateway = house.gateway()
    for turns in (1, 2, 3):
        http.post(gateway.url + CHAT, json=conversation(0, turns) | {"stream": True})
    told = gateway.inner.metrics.exposition(lambda _: True).decode()
    counted = [line for line in told.splitlines() if line.startswith("gateway_prefix_beliefs_t")]
    assert [line.partition("outcome=")[2] for line in counted] == ['"held"} 1.0', '"dropped"} 1.0']


def test_a_session_named_by_its_header_stays_on_one_replica(
    house: House, http: httpx.Client
) -> None:
    engines = [house.engine(answers) for _ in range(3)]
    house.publish(*engines)
    url = house.gateway().url + CHAT
    for number in range(6):
        http.post(url, json=conversation(number, 1), headers={"x-session-id": "a session"})
    assert sorted(len(each.calls) for each in engines) == [0, 0, 6]
