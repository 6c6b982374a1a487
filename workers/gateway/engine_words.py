"""What a request says to an engine that means something else by it than OpenAI does, or nothing."""

_LENGTHS = ("max_tokens", "max_completion_tokens")


def length_of_answer(data: dict[str, object], default: int) -> dict[str, object]:
    """Return the default length of answers as a field, where the request names none."""
    if any(data.get(name) is not None for name in _LENGTHS):
        return {}
    # TensorRT-LLM 1.2 refuses a request that has both, be one of them null.
    return {next((name for name in _LENGTHS if name in data), _LENGTHS[0]): default}


def say_in_own_words(data: dict[str, object]) -> bool:
    """Say in TensorRT-LLM's words what it loses in OpenAI's; return whether anything changed."""
    return _unwrap_schema(data) | _let_tools_be_called(data)


def _unwrap_schema(data: dict[str, object]) -> bool:
    """Give a schema without OpenAI's wrapper around it, in which the engine would lose it."""
    response_format = data.get("response_format")
    wrapper = response_format.get("json_schema") if isinstance(response_format, dict) else None
    schema = wrapper.get("schema") if isinstance(wrapper, dict) else None
    if not isinstance(schema, dict):
        return False
    data["response_format"] = {"type": "json", "schema": schema}
    return True


def _let_tools_be_called(data: dict[str, object]) -> bool:
    """Say what OpenAI means where a request has tools and no word of them."""
    if not data.get("tools") or data.get("tool_choice") is not None:
        return False
    data["tool_choice"] = "auto"
    return True
