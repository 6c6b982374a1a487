"""Arguments of `enginehouse.vllm_args`, however a config spells their names."""

from collections.abc import Mapping
from typing import Any

from controlplane.domain.rules.context import Context


def named_arguments(c: Context) -> Mapping[str, Any]:
    """Return the arguments by the engine's spelling; `max_loras` and `--max-loras` are one."""
    return {_spelled(name): value for name, value in c.spec.settings.vllm_args.items()}


def argument_paths(c: Context, *names: str) -> tuple[str, ...]:
    """Return where these arguments are written, else the block that they would stand in."""
    block = f"{c.spec.settings_path}.vllm_args"
    written = [f"{block}.{each}" for each in c.spec.settings.vllm_args if _spelled(each) in names]
    return tuple(written) or (block,)


def _spelled(written: str) -> str:
    return written.strip().lstrip("-").replace("_", "-")
