"""Fields that would change the answer and that the engine does not honour."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from workers.engine.errors import RequestRefused

WITHOUT_EFFECT: Mapping[str, Sequence[Any]] = {
    "best_of": (1,), "length_penalty": (1,), "functions": ([],),
    "function_call": ("none", "auto"), "suffix": ("",), "bad_words": ([],),
    "use_beam_search": (False,), "modalities": (["text"],), "audio": (), "prediction": (),
    "add_generation_prompt": (True,), "continue_final_message": (False,), "chat_template": (),
    "lora_request": (),
}  # fmt: skip
"""Field to the values, beside null, that ask for nothing."""

INSTEAD: Mapping[str, str] = {
    "functions": "send `tools`",
    "function_call": "send `tool_choice`",
    "best_of": "send `n`",
    "suffix": "this model continues a text and fills no gaps; put all of it into `prompt`",
}


def refuse_unsupported(body: Mapping[str, Any]) -> None:
    """Let a body pass that asks for nothing of the list. Raises: `RequestRefused`."""
    for field, harmless in WITHOUT_EFFECT.items():
        value = body.get(field)
        if value is not None and not any(_is_same(value, other) for other in harmless):
            instead = INSTEAD.get(field) or (
                f"leave it out or send {json.dumps(harmless[0])}" if harmless else "leave it out"
            )
            raise RequestRefused(
                f"`{field}` is not supported by this engine; {instead}.",
                field=field,
                code="unsupported_parameter",
            )


def _is_same(value: object, other: object) -> bool:
    """Equal, where 0 and false are not."""
    return isinstance(value, bool) == isinstance(other, bool) and value == other
