"""Ask once and print the answer: `python client.py`."""

import os

from openai import OpenAI

client = OpenAI(
    base_url=os.environ["ENGINEHOUSE_ENDPOINT"], api_key=os.environ["ENGINEHOUSE_API_KEY"]
)
answer = client.chat.completions.create(
    model="smollm2-chat",
    messages=[{"role": "user", "content": "Name three rivers of Europe."}],
    max_tokens=64,
)
print(answer.choices[0].message.content)
