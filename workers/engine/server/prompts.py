"""The tokens that a plain completion starts from."""

from typing import Any

from workers.engine.engine import Engine
from workers.engine.errors import RequestRefused

MOST_PROMPTS = 128


def plain_prompts(engine: Engine, prompt: str | list[Any]) -> list[list[int]]:
    """Give back one list of tokens per prompt. Raises: `RequestRefused`."""
    is_list = isinstance(prompt, list) and any(isinstance(part, str | list) for part in prompt)
    prompts = list(prompt) if is_list else [prompt]
    if len(prompts) > MOST_PROMPTS:
        raise RequestRefused(
            f"`prompt` holds {len(prompts)} prompts; send {MOST_PROMPTS} at most.", field="prompt"
        )
    return [_one_prompt(engine, one) for one in prompts]


def _one_prompt(engine: Engine, prompt: Any) -> list[int]:
    if isinstance(prompt, str):
        tokens = engine.codec.encode(prompt)
        if not tokens:
            raise RequestRefused("`prompt` is empty; send at least one character.", field="prompt")
        return tokens
    known = range(engine.vocabulary_size)
    is_tokens = isinstance(prompt, list) and all(type(token) is int for token in prompt)
    if not prompt or not is_tokens or not all(token in known for token in prompt):
        raise RequestRefused(
            f"`prompt` should be a text or token ids from 0 to {known.stop - 1}, or a list of "
            "either.",
            field="prompt",
        )
    return list(prompt)
