"""One question to the deployed model with the official `openai` client, streamed."""

import json

import httpx2
import openai

from apps.dashboard.demo.console import Console
from apps.dashboard.demo.failure import DemoFailed

QUESTION = "What is the capital of France?"
MAX_TOKENS = 64


def endpoint(*, gateway_url: str, model_id: str) -> str:
    return f"{gateway_url}/m/{model_id}/environments/production/sync/v1"


def ask(*, base_url: str, api_key: str, console: Console) -> str:
    local = httpx2.Client(trust_env=False, timeout=120)
    try:
        with openai.OpenAI(
            base_url=base_url, api_key=api_key, max_retries=5, http_client=local
        ) as client:
            return _streamed(client, console)
    except openai.OpenAIError as error:
        raise DemoFailed(f"The endpoint did not answer: {error}") from None


def curl_line(*, base_url: str, api_key: str) -> str:
    body = {
        "messages": [{"role": "user", "content": QUESTION}],
        "max_tokens": MAX_TOKENS,
        "temperature": 0,
    }
    return (
        f"curl -s {base_url}/chat/completions "
        f"-H 'Authorization: Bearer {api_key}' -H 'Content-Type: application/json' "
        f"-d '{json.dumps(body)}'"
    )


def _streamed(client: openai.OpenAI, console: Console) -> str:
    stream = client.chat.completions.create(
        model="not-required",
        messages=[{"role": "user", "content": QUESTION}],
        max_tokens=MAX_TOKENS,
        temperature=0,
        stream=True,
    )
    answer = ""
    for chunk in stream:
        piece = (chunk.choices[0].delta.content or "") if chunk.choices else ""
        answer += piece
        console.piece(piece)
    console.say()
    if not answer.strip():
        raise DemoFailed("The endpoint answered without a word.")
    return answer
