"""What an engine remembers of one tenant's prompts is nothing to another."""

import json
from itertools import count

import pytest

from tests.workers.gateway.stage.routes import CHAT, KEY, digest, key_row, routes
from tests.workers.gateway.stage.scripts import answers
from workers.gateway.request_body import MODEL_ROUTES

SECOND_KEY = "second00.0123456789abcdef"


@pytest.fixture
def ask(house, http):
    """Asks through a gateway with either of two keys; gives back what the engine was sent."""
    engine, gateway = house.engine(answers), house.gateway()
    versions = count(1)

    def ask(body: bytes, *, key: str = KEY, path: str = CHAT, **changes: bool):
        snapshot = routes(engine.port, version=next(versions), **changes)
        snapshot["keys"][digest(SECOND_KEY)] = key_row("keysecon")
        house.publish_snapshot(snapshot)
        answer = http.post(
            gateway.url + path, content=body, headers={"authorization": f"Bearer {key}"}
        )
        assert answer.status_code == 200, answer.text
        return engine.calls[-1].json()

    return ask


def test_each_key_has_a_salt_of_its_own_and_a_clients_salt_stays_within_it(ask):
    plain = b'{"model":"served","messages":[]}'
    assert ask(plain)["cache_salt"] == "keyaaaaa"
    assert ask(plain, key=SECOND_KEY)["cache_salt"] == "keysecon"

    def salted(value: object) -> bytes:
        return json.dumps({"model": "served", "messages": [], "cache_salt": value}).encode()

    assert ask(salted("chat 7"))["cache_salt"] == "keyaaaaa/chat 7"
    assert ask(salted("keyaaaaa"), key=SECOND_KEY)["cache_salt"] == "keysecon/keyaaaaa"
    assert ask(salted(None))["cache_salt"] == ask(salted(""))["cache_salt"] == "keyaaaaa"
    assert ask(salted(7))["cache_salt"] == 7, "which the engine refuses"


def test_a_deployment_may_let_the_keys_of_its_team_share(ask):
    plain = b'{"messages":[]}'
    sent = [ask(plain, key=key, shares_prefixes=True) for key in (KEY, SECOND_KEY)]
    assert sent[0] == sent[1] == {"messages": [], "model": "served", "cache_salt": "teamaaaa"}


@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b' \n{"model":"served"}',
        b'{"model":"served","cache_salt":"a","cache_salt":null}',
        b'{"model":"served","cache\\u005fsalt":""}',
        '{"model":"served"}'.encode("utf-16"),
        '{"model":"served"}'.encode("utf-16-be"),
        '{"model":"served"}'.encode("utf-8-sig"),
        b'{"model":"served","stream":false,"stream_options":null}',
    ],
)
def test_no_way_to_write_a_body_goes_without_the_salt(ask, body):
    sent = ask(body)
    assert (sent["model"], sent["cache_salt"]) == ("served", "keyaaaaa")


def test_an_escaped_path_is_the_route_that_the_engine_reads(ask):
    for path in (CHAT.replace("/completions", "/%63ompletions"), CHAT.replace("v1", "%761")):
        sent = ask(b'{"model":"any","cache_salt":"keysecon"}', path=path)
        assert sent == {"model": "served", "cache_salt": "keyaaaaa/keysecon"}


def test_no_other_route_of_an_engine_takes_the_salt_of_another(ask):
    path = CHAT.replace("/v1/chat/completions", "/invocations")
    for body in (b'{"model":"any","cache_salt":"keysecon"}', b'{"cache\\u005fsalt":"keysecon"}'):
        assert ask(body, path=path)["cache_salt"] == "keyaaaaa/keysecon"
    assert ask(b'{"model":"any"}', path=path) == {"model": "any"}


def test_an_engine_that_takes_salts_everywhere_gets_one_with_every_json_object(ask):
    routes = ("/v1/responses", "/v1/messages", "/inference/v1/generate", "/invocations", "/pooling")
    for route in routes:
        path = CHAT.replace("/v1/chat/completions", route)
        named = {"model": "served"} if route in MODEL_ROUTES else {}
        sent = ask(b'{"input":"hello"}', path=path, salts_every_route=True)
        assert sent == {"cache_salt": "keyaaaaa", "input": "hello"} | named
        sent = ask(b'{"cache_salt":"mine"}', path=path, key=SECOND_KEY, salts_every_route=True)
        assert sent["cache_salt"] == "keysecon/mine"
    assert ask(b'["a"]', path=path, salts_every_route=True) == ["a"]
    assert "cache_salt" not in ask(b'{"input":"hello"}', path=path)
