"""Get an object of a class instead of text: `python client.py`."""

import os
from typing import Literal

from openai import OpenAI
from pydantic import BaseModel


class Ticket(BaseModel):
    """What a message asks for."""

    area: Literal["billing", "network", "other"]
    is_urgent: bool


client = OpenAI(
    base_url=os.environ["ENGINEHOUSE_ENDPOINT"], api_key=os.environ["ENGINEHOUSE_API_KEY"]
)
answer = client.chat.completions.parse(
    model="qwen-json",
    messages=[{"role": "user", "content": "The router has been dead since this morning, help!"}],
    response_format=Ticket,
)
ticket = answer.choices[0].message.parsed
print(f"{ticket.area}, {'urgent' if ticket.is_urgent else 'can wait'}")
