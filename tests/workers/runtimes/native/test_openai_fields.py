"""Fields of OpenAI and vLLM that change an answer, asked with the official client."""

import json
import re
from collections import defaultdict
from typing import Any

import pytest

from tests.workers.runtimes.native.server import EngineServer, counts

pytestmark = [pytest.mark.process, pytest.mark.engine]

MESSAGES = [{"role": "user", "content": "Hello"}]
ASK: dict[str, Any] = {"model": "tiny", "messages": MESSAGES, "max_tokens": 8, "temperature": 0}
PLAIN: dict[str, Any] = {"model": "tiny", "max_tokens": 6, "temperature": 0}


def test_choices_of_a_seed_differ_and_repeat(server: EngineServer) -> None:
    ask = {**ASK, "n": 3, "seed": 7, "temperature": 1.4}
    first, second = (server.openai.chat.completions.create(**ask) for _ in range(2))
    texts = [choice.message.content for choice in first.choices]
    assert [choice.index for choice in first.choices] == [0, 1, 2]
    assert len(set(texts)) == 3
    assert texts == [choice.message.content for choice in second.choices]
    assert first.usage is not None
    assert first.usage.completion_tokens == 24
    alone = server.openai.chat.completions.create(**{**ask, "n": 1})
    assert alone.choices[0].message.content == texts[0]
    assert alone.usage is not None
    assert alone.usage.prompt_tokens == first.usage.prompt_tokens


def test_streamed_choices_come_interleaved_and_join_to_the_same(server: EngineServer) -> None:
    ask = {**ASK, "n": 2, "seed": 7, "temperature": 1.4}
    whole = server.openai.chat.completions.create(**ask)
    texts: dict[int, str] = defaultdict(str)
    for chunk in server.openai.chat.completions.create(
        **ask, stream=True, stream_options={"include_usage": True, "continuous_usage_stats": True}
    ):
        assert chunk.usage is not None
        for choice in chunk.choices:
            texts[choice.index] += choice.delta.content or ""
    assert dict(texts) == {one.index: one.message.content for one in whole.choices}
    assert counts(chunk.usage) == counts(whole.usage)


def test_usage_tells_how_much_of_each_prompt_was_cached(server: EngineServer) -> None:
    prompts = [[9, *range(20, 60)], [8, *range(20, 45)]]
    ask = {"prompt": prompts, "n": 2, **PLAIN}
    server.openai.completions.create(**ask)
    again = server.openai.completions.create(**ask)
    streamed = list(
        server.openai.completions.create(**ask, stream=True, stream_options={"include_usage": True})
    )
    for usage in (again.usage, streamed[-1].usage):
        assert usage is not None
        assert usage.prompt_tokens == 41 + 26
        assert usage.prompt_tokens_details is not None
        assert usage.prompt_tokens_details.cached_tokens == 40 + 25
    other = server.post("/v1/completions", **ask, cache_salt="another").json()["usage"]
    assert other["prompt_tokens_details"] == {"cached_tokens": 0}


def test_a_list_of_prompts_gives_a_choice_for_each(server: EngineServer) -> None:
    prompts = ["The sky", "def add"]
    alone = [server.openai.completions.create(prompt=one, **PLAIN) for one in prompts]
    both = server.openai.completions.create(prompt=prompts, n=2, **PLAIN)
    assert [choice.index for choice in both.choices] == [0, 1, 2, 3]
    texts = [one.choices[0].text for one in alone]
    assert [choice.text for choice in both.choices] == [texts[0]] * 2 + [texts[1]] * 2
    assert both.usage is not None
    assert both.usage.prompt_tokens == sum(one.usage.prompt_tokens for one in alone if one.usage)
    tokens = server.openai.completions.create(prompt=[[5, 6], [7, 8]], **PLAIN)
    assert len(tokens.choices) == 2


def test_logprobs_of_a_chat_join_to_its_text(server: EngineServer) -> None:
    ask = {**ASK, "logprobs": True, "top_logprobs": 2}
    # Who comes first computes the prompt's rows that all others find kept, in a step of another
    # width, whose last digit differs.
    server.openai.chat.completions.create(**ask)
    choice = server.openai.chat.completions.create(**ask).choices[0]
    assert choice.logprobs is not None
    entries = choice.logprobs.content or []
    raw = b"".join(bytes(entry.bytes or []) for entry in entries)
    assert raw.decode(errors="replace") == choice.message.content
    assert all(entry.token == entry.top_logprobs[0].token for entry in entries)
    assert all(len(entry.top_logprobs) == 2 for entry in entries)
    streamed = [
        entry
        for chunk in server.openai.chat.completions.create(**ask, stream=True)
        if chunk.choices[0].logprobs
        for entry in chunk.choices[0].logprobs.content or []
    ]
    assert streamed == entries
    without = server.openai.chat.completions.create(**ASK, logprobs=False).choices[0]
    assert without.logprobs is None


def test_logprobs_of_a_completion_have_their_own_shape(server: EngineServer) -> None:
    outcome = server.openai.completions.create(prompt="The sky", logprobs=1, **PLAIN).choices[0]
    assert outcome.logprobs is not None
    assert len(outcome.logprobs.tokens or []) == len(outcome.logprobs.token_logprobs or []) == 6
    offsets = outcome.logprobs.text_offset or []
    assert offsets[0] == 0
    assert offsets == sorted(offsets)
    best = [max(top, key=top.__getitem__) for top in outcome.logprobs.top_logprobs or []]
    assert best == outcome.logprobs.tokens


def test_logprobs_of_a_completion_hold_the_token_that_was_drawn_and_its_bytes(
    server: EngineServer,
) -> None:
    ask = {**PLAIN, "max_tokens": 60, "temperature": 2.0, "seed": 1, "logprobs": 1}
    logprobs = server.openai.completions.create(prompt="The sky", **ask).choices[0].logprobs
    assert logprobs is not None
    tokens, tops = logprobs.tokens or [], logprobs.top_logprobs or []
    drawn = zip(tokens, logprobs.token_logprobs or [], tops, strict=True)
    assert all(top[token] == logprob for token, logprob, top in drawn)
    assert {len(top) for top in tops} == {1, 2}
    partial = [token for token in tokens if token.startswith("bytes:")]
    assert partial, "of sixty random tokens some are no whole character"
    assert all(re.fullmatch(r"bytes:(\\x[0-9a-f]{2})+", token) for token in partial)


def test_an_echo_is_the_prompt_with_its_scores(server: EngineServer) -> None:
    ask = {**PLAIN, "prompt": ["The sky", [5, 6, 7]], "logprobs": 1, "echo": True}
    whole = server.openai.completions.create(**ask)
    alone = server.openai.completions.create(**{**ask, "echo": False})
    prompts = server.openai.completions.create(**{**ask, "max_tokens": 0})
    assert whole.choices[0].text == "The sky" + alone.choices[0].text
    assert prompts.choices[0].text == "The sky"
    assert {one.finish_reason for one in prompts.choices} == {"length"}
    assert prompts.usage is not None
    assert prompts.usage.completion_tokens == 0
    for one, prompt in zip(whole.choices, prompts.choices, strict=True):
        assert one.logprobs is not None
        assert prompt.logprobs is not None
        values, of_prompt = one.logprobs.token_logprobs or [], prompt.logprobs.token_logprobs or []
        assert len(values) == len(of_prompt) + 6
        assert values[0] is None
        assert (one.logprobs.top_logprobs or [])[0] is None
        assert values[1 : len(of_prompt)] == pytest.approx(of_prompt[1:], abs=1e-5)
    streamed = list(server.openai.completions.create(**ask, stream=True))
    texts: dict[int, str] = defaultdict(str)
    for chunk in streamed:
        texts[chunk.choices[0].index] += chunk.choices[0].text
    assert [texts[0], texts[1]] == [one.text for one in whole.choices]


@pytest.mark.parametrize("path", ["/v1/completions", "/v1/chat/completions"])
def test_the_scores_of_a_prompt_come_as_vllm_tells_them(server: EngineServer, path: str) -> None:
    body = {"prompt": "The sky"} if path == "/v1/completions" else {"messages": MESSAGES}
    answer = server.post(path, **body, max_tokens=1, prompt_logprobs=2).json()
    holder = answer if path == "/v1/chat/completions" else answer["choices"][0]
    first, *rest = holder["prompt_logprobs"]
    assert first is None
    assert len(rest) == answer["usage"]["prompt_tokens"] - 1
    for entry in rest:
        assert 2 <= len(entry) <= 3
        assert {*map(frozenset, entry.values())} == {
            frozenset({"logprob", "rank", "decoded_token"})
        }
        assert {1, 2} <= {each["rank"] for each in entry.values()}


def test_bias_penalties_and_stop_tokens_are_obeyed(server: EngineServer) -> None:
    forced = server.openai.completions.create(prompt="a", logit_bias={"40": 100}, **PLAIN)
    assert len(set(forced.choices[0].text)) == 1
    assert len(forced.choices[0].text) == 6
    varied = server.openai.completions.create(
        prompt="a", logit_bias={"40": 20}, presence_penalty=2, frequency_penalty=2, **PLAIN,
        extra_body={"repetition_penalty": 9.0, "min_p": 0.1, "top_k": 5},
    )  # fmt: skip
    assert len(set(varied.choices[0].text)) > 1
    stopped = server.openai.completions.create(
        prompt="a", logit_bias={"40": 100}, **PLAIN, extra_body={"stop_token_ids": [40]}
    )
    assert (stopped.choices[0].text, stopped.choices[0].finish_reason) == ("", "stop")


@pytest.mark.parametrize(
    ("extra", "pattern"),
    [
        ({"guided_regex": "[0-9]{3}"}, "[0-9]{3}"),
        ({"guided_choice": ["yes", "no"]}, "yes|no"),
        ({"guided_grammar": 'root ::= "a" "b"'}, "ab"),
        ({"guided_json": {"enum": [7]}}, "7"),
        ({"structured_outputs": {"regex": "x{4}"}}, "xxxx"),
        ({"structured_outputs": {"choice": ["yes", "no"]}}, "yes|no"),
        ({"structured_outputs": {"json": '{"const": "k"}', "json_object": False}}, '"k"'),
    ],
)
def test_vllms_names_for_a_constraint_are_understood(
    server: EngineServer, extra: dict[str, Any], pattern: str
) -> None:
    chat = server.openai.chat.completions.create(**ASK, extra_body=extra).choices[0]
    assert re.fullmatch(pattern, chat.message.content or "")
    assert chat.finish_reason == "stop"


def test_a_strict_schema_holds_every_choice(server: EngineServer) -> None:
    schema = {
        "type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"],
        "additionalProperties": False,
    }  # fmt: skip
    target = {"type": "json_schema", "json_schema": {"name": "x", "strict": True, "schema": schema}}
    answer = server.openai.chat.completions.create(
        **{**ASK, "max_tokens": 40, "temperature": 1.5}, n=3, response_format=target
    )
    for choice in answer.choices:
        assert isinstance(json.loads(choice.message.content or "")["ok"], bool)
