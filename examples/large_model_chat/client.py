"""Print an answer as it is written: `python client.py`."""

import os

from openai import OpenAI

client = OpenAI(
    base_url=os.environ["ENGINEHOUSE_ENDPOINT"], api_key=os.environ["ENGINEHOUSE_API_KEY"]
)
stream = client.chat.completions.create(
    model="llama-70b-chat",
    messages=[
        {"role": "system", "content": "Answer in two sentences."},
        {"role": "user", "content": "Why is the sky blue?"},
    ],
    max_tokens=128,
    stream=True,
    stream_options={"include_usage": True},
)
for chunk in stream:
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="", flush=True)
    elif chunk.usage:
        print(f"\n{chunk.usage.completion_tokens} tokens")
