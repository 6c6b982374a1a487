"""Changes single settings in the user's own text; comments and order stay."""

import io
import re
from collections.abc import Mapping, MutableMapping
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.error import YAMLError
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from controlplane.domain.spec.document import Document
from controlplane.domain.spec.text import read_text
from controlplane.domain.spec.yaml_reader import reads_back_as_text

_FIRST_NESTED = re.compile(
    r"^(?P<key> *)[^\s#-][^\n]*:[ \t]*(?:#[^\n]*)?\n(?P<inner> +)[^\s#-]", re.M
)
_FIRST_LIST = re.compile(r"^(?P<key> *)[^\s#-][^\n]*:[ \t]*(?:#[^\n]*)?\n(?P<dash> *)- ", re.M)
_INDENT = 2


class UneditableTextError(ValueError):
    """The text cannot be read as one mapping, so no setting in it can be changed."""


def edit_yaml(text: str, patch: Mapping[str, Any]) -> str:
    """Return `text` with each dotted path set to its value, or removed where that is None.

    A mapping as value replaces the keys of the block and keeps the comments of those that stay;
    None inside it is a value. Raises `UneditableTextError`.
    """
    document = read_text(text) if text.strip() else Document(data={}, marks={})
    if not isinstance(document, Document) or not isinstance(document.data, Mapping | None):
        raise UneditableTextError("The text is not a YAML mapping.")
    editor = _editor(text)
    try:
        content = editor.load(text) if document.data else CommentedMap()
    except YAMLError as failure:
        raise UneditableTextError("The text is not a YAML mapping.") from failure
    for path, value in patch.items():
        _apply(content, path.split("."), value)
    target = io.StringIO()
    editor.dump(content, target)
    return target.getvalue()


def _editor(text: str) -> YAML:
    """Return a round-trip editor that indents as the text does."""
    editor = YAML()
    editor.preserve_quotes = True
    editor.width = 4096
    editor.representer.add_representer(type(None), _write_null)
    nested, listed = _FIRST_NESTED.search(text), _FIRST_LIST.search(text)
    mapping = len(nested["inner"]) - len(nested["key"]) if nested else _INDENT
    offset = len(listed["dash"]) - len(listed["key"]) if listed else _INDENT
    offset = max(0, offset)
    editor.indent(mapping=max(1, mapping), sequence=offset + _INDENT, offset=offset)
    return editor


def _write_null(representer: Any, _: None) -> Any:
    return representer.represent_scalar("tag:yaml.org,2002:null", "null")


def _apply(block: Any, steps: list[str], value: Any) -> None:
    key, rest = _match(block, steps)
    if rest:
        inner = _step_into(block, key, create=value is not None)
        if inner is not None:
            _apply(inner, rest, value)
    elif value is None:
        _remove(block, key)
    else:
        _set(block, key, value)


def _match(block: Any, steps: list[str]) -> tuple[Any, list[str]]:
    """Return the key that the path begins with; keys may hold dots, so the longest wins."""
    if isinstance(block, list):
        return (int(steps[0]) if steps[0].isdigit() else steps[0]), steps[1:]
    for length in range(len(steps), 0, -1):
        if (key := ".".join(steps[:length])) in block:
            return key, steps[length:]
    return steps[0], steps[1:]


def _step_into(block: Any, key: Any, *, create: bool) -> Any:
    if isinstance(block, list):
        return block[key] if isinstance(key, int) and key < len(block) else None
    inner = block.get(key)
    if isinstance(inner, MutableMapping | list):
        return inner
    if not create:
        return None
    block[key] = CommentedMap()
    return block[key]


def _remove(block: Any, key: Any) -> None:
    if isinstance(block, list):
        if isinstance(key, int) and key < len(block):
            del block[key]
    else:
        block.pop(key, None)


def _set(block: Any, key: Any, value: Any) -> None:
    if isinstance(block, list) and not (isinstance(key, int) and key < len(block)):
        return
    current = block[key] if isinstance(block, list) else block.get(key)
    if isinstance(value, Mapping) and isinstance(current, MutableMapping):
        for name in [name for name in current if name not in value]:
            del current[name]
        for name, item in value.items():
            _set(current, name, item)
    else:
        block[key] = _safe(value)


def _safe(value: Any) -> Any:
    """Return the value with text quoted where YAML 1.1 would read a number or a switch."""
    if isinstance(value, Mapping):
        return CommentedMap((name, _safe(item)) for name, item in value.items())
    if isinstance(value, list | tuple):
        return [_safe(item) for item in value]
    if isinstance(value, str) and not reads_back_as_text(value):
        return DoubleQuotedScalarString(value)
    return value
