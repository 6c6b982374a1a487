"""Let the model call a function of yours: `python client.py`."""

import json
import os

from openai import OpenAI

TOOL = {
    "type": "function",
    "function": {
        "name": "track_parcel",
        "description": "Where a parcel is",
        "parameters": {
            "type": "object",
            "properties": {"carrier": {"type": "string", "enum": ["north", "south"]}},
            "required": ["carrier"],
            "additionalProperties": False,
        },
    },
}
client = OpenAI(
    base_url=os.environ["ENGINEHOUSE_ENDPOINT"], api_key=os.environ["ENGINEHOUSE_API_KEY"]
)
answer = client.chat.completions.create(
    model="llama-8b-tools",
    messages=[{"role": "user", "content": "Where is my parcel? It came with North."}],
    tools=[TOOL],
    tool_choice={"type": "function", "function": {"name": "track_parcel"}},
)
call = answer.choices[0].message.tool_calls[0].function
print(f"{call.name}({json.loads(call.arguments)})")
