"""Tool calls for a checkpoint whose own template knows none: a prompt and a grammar of ours."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from workers.engine.server.messages import Message
from workers.engine.server.tools.dialects import HERMES
from workers.engine.server.tools.fields import Function

INSTRUCTION = """You can call these functions:
{functions}

To call one, write
<tool_call>
{{"name": "FUNCTION", "arguments": {{"ARGUMENT": "VALUE"}}}}
</tool_call>
Take the values of the arguments from the user's message."""


def generic_messages(
    messages: Sequence[Message], functions: Sequence[Function]
) -> list[dict[str, Any]]:
    """Give back messages that any chat template renders, with the functions told in the first."""
    plain = [_plain(message) for message in messages]
    if not functions:
        return plain
    listed = "\n".join(json.dumps(one.model_dump(exclude_none=True)) for one in functions)
    instruction = INSTRUCTION.format(functions=listed)
    if plain[0]["role"] == "system":
        return [
            {"role": "system", "content": f"{plain[0]['content']}\n\n{instruction}"},
            *plain[1:],
        ]
    return [{"role": "system", "content": instruction}, *plain]


def _plain(message: Message) -> dict[str, Any]:
    if message.role == "tool":
        response = f"<tool_response>\n{message.content}\n</tool_response>"
        return {"role": "user", "content": response}
    content = message.content
    for call in message.tool_calls or ():
        written: Mapping[str, Any] = {
            "name": call.function.name, "arguments": call.function.arguments,
        }  # fmt: skip
        content += f"{HERMES.before_call}{json.dumps(written)}{HERMES.after_call}"
    return {"role": message.to_template()["role"], "content": content}
