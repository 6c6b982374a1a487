"""What the gateway changes in a body, and what it leaves to the engine."""

import json
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.gateway import request_body
from workers.gateway.refusals import Refused
from workers.gateway.request_body import prepare
from workers.gateway.snapshot import Deployment, Key, Scope

DEPLOYMENT = Deployment(
    id="d", model_id="m", name="d", status="ACTIVE", environment=None, served_model_name="served",
    predict_route="/v1/chat/completions", adapters=frozenset({"polite"}), shares_prefixes=False,
    salts_every_route=False, default_max_tokens=None, has_own_words=False,
    translates_responses=False, backpressure=None,
    routes={}, extra_routes=frozenset({"/echo"}), replicas=(), suspects=(),
)  # fmt: skip
WHO = Key(
    id="keyaaaaa", scope=Scope.INVOKE, team_id="t", model_ids=None, environments=None,
    expires_at=None, requests_per_minute=None, parallel_requests=None, tokens_per_minute=None,
    spent_until=None,
)  # fmt: skip


@pytest.mark.parametrize("options", [None, {}, {"include_usage": False}])
def test_usage_is_asked_for_and_hidden(options):
    body = {"model": "served", "stream": True} | ({"stream_options": options} if options else {})

    prepared = prepare(json.dumps(body).encode(), "/v1/completions", DEPLOYMENT, WHO)

    assert json.loads(prepared.body)["stream_options"]["include_usage"] is True
    assert prepared.hides_usage
    assert prepared.stream


@pytest.mark.parametrize("body", [b"", b"[]", b'"x"', b"null"])
def test_a_body_that_is_not_what_it_should_be_is_left_to_the_engine(body):
    assert prepare(body, "/v1/chat/completions", DEPLOYMENT, WHO).body == body


FIELDS = st.tuples(
    st.sampled_from(
        ['"cache_salt"', r'"cache\u005fsalt"', '"Cache_salt"', '"model"', '"stream"',
         '"stream_options"']
    ),
    st.sampled_from(
        ["null", '""', '"keyother"', '"served"', '"x"', "true", "7", "{}", "[1e400]", r'"\ud800"',
         '{"cache_salt":"keyother"}', '["keyother"]']
    ),
)  # fmt: skip


@given(
    st.lists(FIELDS, max_size=5),
    st.sampled_from(["", " ", "\n\t ", "\0", "\x0b", "[", "{}"]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32",
                     "utf-32-le", "utf-32-be"]),
    st.sampled_from(["/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/invocations"]),
)  # fmt: skip
def test_no_body_brings_an_engine_the_salt_of_another(fields, before, encoding, route):
    text = before + "{" + ",".join(f"{name}: {value}" for name, value in fields) + "}"
    try:
        sent = prepare(text.encode(encoding), route, DEPLOYMENT, WHO).body
    except Refused:
        return
    with suppress(ValueError):  # as engines do: what is no JSON they refuse
        read_by_engine = json.loads(sent)
        if "completions" in route or "cache_salt" in read_by_engine:
            salt = read_by_engine["cache_salt"]
            assert not isinstance(salt, str) or f"{salt}/".startswith("keyaaaaa/")
            assert salt not in (None, "")


def test_a_model_that_is_no_text_is_left_to_the_engine():
    sent = prepare(b'{"model":3}', "/v1/chat/completions", DEPLOYMENT, WHO).body
    assert json.loads(sent) == {"model": 3, "cache_salt": "keyaaaaa"}


def test_a_body_nested_without_end_is_refused():
    with pytest.raises(Refused):
        prepare(b"[" * 1_000_000, "/v1/chat/completions", DEPLOYMENT, WHO)


def test_an_adapter_that_the_engine_would_pass_over_is_refused_and_no_other_name():
    of_own_words = replace(DEPLOYMENT, has_own_words=True)
    with pytest.raises(Refused) as raised:
        prepare(b'{"model":"polite"}', "/v1/chat/completions", of_own_words, WHO)
    assert "The adapter `polite` cannot be asked" in raised.value.refusal.message
    sent = prepare(b'{"model":"other"}', "/v1/chat/completions", of_own_words, WHO).body
    assert json.loads(sent)["model"] == "served"


SCHEMA = {"type": "object", "properties": {"a": {"type": "null"}}}


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA}},
         {"type": "json", "schema": SCHEMA}),
        ({"type": "json_object"}, {"type": "json_object"}),
        ({"type": "json_schema", "json_schema": {"name": "a"}},
         {"type": "json_schema", "json_schema": {"name": "a"}}),
    ],
)  # fmt: skip
def test_a_schema_goes_bare_to_an_engine_that_would_lose_it_in_its_wrapper(given, sent):
    body = json.dumps({"model": "served", "response_format": given}).encode()
    bare = prepare(body, "/v1/chat/completions", replace(DEPLOYMENT, has_own_words=True), WHO)
    assert json.loads(bare.body)["response_format"] == sent
    wrapped = prepare(body, "/v1/chat/completions", DEPLOYMENT, WHO)
    assert json.loads(wrapped.body)["response_format"] == given


@pytest.mark.parametrize(
    ("given", "sent"), [({}, "auto"), ({"tool_choice": None}, "auto"),
                        ({"tool_choice": "none"}, "none")],
)  # fmt: skip
def test_tools_may_be_called_where_the_engine_would_leave_them(given, sent):
    deployment = replace(DEPLOYMENT, has_own_words=True)
    body = json.dumps({"model": "served", "tools": [{"type": "function"}], **given}).encode()
    prepared = prepare(body, "/v1/chat/completions", deployment, WHO)
    assert json.loads(prepared.body)["tool_choice"] == sent
    plain = prepare(b'{"model":"served"}', "/v1/chat/completions", deployment, WHO)
    assert "tool_choice" not in json.loads(plain.body)


def test_a_body_that_can_be_read_and_is_too_deep_to_be_written_is_refused(monkeypatch):
    def written(_):
        raise RecursionError

    monkeypatch.setattr(request_body, "_compact", written)
    with pytest.raises(Refused) as raised:
        prepare(b'{"model":"other"}', "/v1/chat/completions", DEPLOYMENT, WHO)
    assert raised.value.refusal.message == "The JSON body is nested too deeply."


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({}, {"max_tokens": 9}),
        ({"max_tokens": 3}, {"max_tokens": 3}),
        ({"max_completion_tokens": 3}, {"max_completion_tokens": 3}),
        ({"max_tokens": None}, {"max_tokens": 9}),
        ({"max_completion_tokens": None}, {"max_completion_tokens": 9}),
        ({"max_tokens": None, "max_completion_tokens": 3},
         {"max_tokens": None, "max_completion_tokens": 3}),
    ],
)  # fmt: skip
def test_a_request_that_names_no_length_gets_the_configs(given, sent):
    deployment = replace(DEPLOYMENT, default_max_tokens=9)
    body = json.dumps({"model": "served", **given}).encode()
    for route in ("/v1/chat/completions", "/v1/completions"):
        content = json.loads(prepare(body, route, deployment, WHO).body)
        assert content == {"model": "served", "cache_salt": "keyaaaaa", **sent}
    assert json.loads(prepare(body, "/v1/embeddings", deployment, WHO).body) == json.loads(body)


def test_a_body_of_too_many_values_is_refused_unread(monkeypatch):
    monkeypatch.setattr(request_body, "_MOST_VALUES", 100)
    body = b'{"prompt":[%b1]}' % (b"1," * 101)
    with pytest.raises(Refused, match="more than 100 values"):
        prepare(body, "/v1/completions", DEPLOYMENT, WHO)
