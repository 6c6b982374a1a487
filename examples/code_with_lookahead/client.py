"""Have a function rewritten, which repeats most of it: `python client.py`."""

import os

from openai import OpenAI

CODE = """\
def mean(values):
    return sum(values) / len(values)
"""
client = OpenAI(
    base_url=os.environ["ENGINEHOUSE_ENDPOINT"], api_key=os.environ["ENGINEHOUSE_API_KEY"]
)
answer = client.chat.completions.create(
    model="coder-7b",
    messages=[{"role": "user", "content": f"Add type hints and a docstring:\n\n{CODE}"}],
    temperature=0,
    max_tokens=200,
)
print(answer.choices[0].message.content)
