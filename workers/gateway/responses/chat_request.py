"""A request to `/v1/responses` as the same request to `/v1/chat/completions`."""

from collections.abc import Mapping
from typing import Any

from workers.gateway.responses.messages import messages_of
from workers.gateway.responses.refused import require_stateless, shown, unsupported, wrong

ROUTE = "/v1/responses"
CHAT_ROUTE = "/v1/chat/completions"
_AS_THEY_ARE = ("model", "temperature", "top_p", "stream", "cache_salt")


def chat_request(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of the chat that asks the same. Raises Refused."""
    require_stateless(data)
    chat = {name: data[name] for name in _AS_THEY_ARE if data.get(name) is not None}
    chat["messages"] = messages_of(data)
    if data.get("max_output_tokens") is not None:
        chat["max_completion_tokens"] = data["max_output_tokens"]
    if data.get("stream") is True:  # which the last event tells
        chat["stream_options"] = {"include_usage": True}
    return chat | _tools(data) | _format(data)


def _tools(data: Mapping[str, Any]) -> dict[str, Any]:
    tools = data.get("tools") or []
    if not isinstance(tools, list):
        raise wrong("tools", tools, "Send a list")
    if not tools:
        return {}
    fields: dict[str, Any] = {
        "tools": [_tool(tool, f"tools[{at}]") for at, tool in enumerate(tools)]
    }
    if data.get("tool_choice") is not None:
        fields["tool_choice"] = _choice(data["tool_choice"])
    if data.get("parallel_tool_calls") is not None:
        fields["parallel_tool_calls"] = data["parallel_tool_calls"]
    return fields


def _tool(tool: object, place: str) -> dict[str, Any]:
    kind = tool.get("type") if isinstance(tool, dict) else None
    if not isinstance(tool, dict) or kind != "function":
        raise unsupported(
            f"{place}.type",
            f"`{place}.type` is `{shown(kind)}`. This server runs no tools of its own: offer a "
            "`function`, and run it where you read the answer.",
        )
    names = ("name", "description", "parameters", "strict")
    function = {name: tool[name] for name in names if tool.get(name) is not None}
    return {"type": "function", "function": function}


def _choice(choice: object) -> object:
    if isinstance(choice, str):
        return choice
    if isinstance(choice, dict) and choice.get("type") == "function":
        return {"type": "function", "function": {"name": choice.get("name")}}
    if isinstance(choice, dict) and choice.get("type") == "allowed_tools":
        tools = [
            _tool(tool, f"tool_choice.tools[{at}]")
            for at, tool in enumerate(choice.get("tools") or ())
        ]
        allowed = {"mode": choice.get("mode"), "tools": tools}
        return {"type": "allowed_tools", "allowed_tools": allowed}
    raise wrong("tool_choice", choice, "Send `auto`, `none`, `required`, or one of your functions")


def _format(data: Mapping[str, Any]) -> dict[str, Any]:
    text = data.get("text")
    if text is None:
        return {}
    if not isinstance(text, dict):
        raise wrong("text", text, "Send an object with a `format`")
    if text.get("verbosity") not in (None, "medium"):
        raise unsupported(
            "text.verbosity",
            f"`text.verbosity` is `{shown(text['verbosity'])}`. Say in `instructions` how much to "
            "write, or send `max_output_tokens`.",
        )
    text_format = text.get("format") or {"type": "text"}
    kind = text_format.get("type") if isinstance(text_format, dict) else None
    if kind == "text":
        return {}
    if kind == "json_object":
        return {"response_format": {"type": "json_object"}}
    if kind == "json_schema":
        schema = {name: value for name, value in text_format.items() if name != "type"}
        return {"response_format": {"type": "json_schema", "json_schema": schema}}
    raise wrong(
        "text.format", text_format, "Send `text`, `json_object` or `json_schema` as its `type`"
    )
