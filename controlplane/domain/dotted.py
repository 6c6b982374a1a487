"""What stands at dotted paths, such as `trt_llm.build`, of nested mappings."""

from collections.abc import Mapping
from typing import Any


def value_at(content: Any, path: str) -> Any:
    """Return the value there, None where nothing is."""
    for step in path.split("."):
        content = content.get(step) if isinstance(content, Mapping) else None
    return content


def set_at(content: dict[str, Any], path: str, value: Any) -> None:
    """Set the value there, in blocks that are made where there are none."""
    *blocks, last = path.split(".")
    for block in blocks:
        content = content.setdefault(block, {})
    content[last] = value
