"""Fields that would change the answer and that the engine cannot honour yet."""

from collections.abc import Mapping, Sequence
from typing import Any

from workers.engine.errors import RequestRefused

WITHOUT_EFFECT: Mapping[str, Sequence[Any]] = {
    "n": (1,),
    "best_of": (1,),
    "logprobs": (False,),
    "top_logprobs": (0,),
    "prompt_logprobs": (0,),
    "frequency_penalty": (0,),
    "presence_penalty": (0,),
    "repetition_penalty": (1,),
    "length_penalty": (1,),
    "min_p": (0,),
    "min_tokens": (0,),
    "logit_bias": ({},),
    "tools": ([],),
    "tool_choice": ("none", "auto"),
    "functions": ([],),
    "function_call": ("none", "auto"),
    "echo": (False,),
    "suffix": ("",),
    "stop_token_ids": ([],),
    "bad_words": ([],),
    "use_beam_search": (False,),
    "modalities": (["text"],),
    "audio": (),
    "prediction": (),
    "add_generation_prompt": (True,),
    "continue_final_message": (False,),
    "skip_special_tokens": (True,),
    "chat_template": (),
    "chat_template_kwargs": ({},),
    "structured_outputs": (),
    "guided_json": (),
    "guided_regex": (),
    "guided_choice": (),
    "guided_grammar": (),
    "lora_request": (),
}
"""Field to the values, beside null, that ask for nothing."""

MESSAGE_ROLES_REFUSED = ("tool", "function")


def refuse_unsupported(body: Mapping[str, Any]) -> None:
    """Let a body pass that asks for nothing of the list. Raises: `RequestRefused`."""
    for field, harmless in WITHOUT_EFFECT.items():
        value = body.get(field)
        if value is not None and not any(_is_same(value, other) for other in harmless):
            raise RequestRefused(
                f"`{field}` is not supported by this engine; leave it out"
                + (f" or send {harmless[0]!r}." if harmless else "."),
                field=field,
                code="unsupported_parameter",
            )
    messages = body.get("messages")
    if isinstance(messages, list):
        for index, message in enumerate(messages):
            _refuse_tool_message(index, message)


def _refuse_tool_message(index: int, message: object) -> None:
    if not isinstance(message, dict):
        return
    for field, is_tool in (
        ("tool_calls", bool(message.get("tool_calls"))),
        ("function_call", bool(message.get("function_call"))),
        ("role", message.get("role") in MESSAGE_ROLES_REFUSED),
    ):
        if is_tool:
            raise RequestRefused(
                f"`messages.{index}.{field}` belongs to tool calls, which this engine does not "
                "support.",
                field=f"messages.{index}.{field}",
                code="unsupported_parameter",
            )


def _is_same(value: object, other: object) -> bool:
    """Equal, where 0 and false are not: `logprobs: 0` asks for something."""
    return isinstance(value, bool) == isinstance(other, bool) and value == other
