"""Changes single settings in the user's own text; everything else stays as it is written."""

import io
import json
import re
from collections.abc import Mapping
from difflib import SequenceMatcher
from typing import Any

import yaml
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import ScalarNode
from ruamel.yaml.resolver import VersionedResolver
from ruamel.yaml.scalarstring import DoubleQuotedScalarString, PlainScalarString

from controlplane.domain.spec.document import Document
from controlplane.domain.spec.patch import patched, put
from controlplane.domain.spec.shared_blocks import part_from_others
from controlplane.domain.spec.text import read_text
from controlplane.domain.spec.yaml_reader import reads_back_as_text

_FIRST_NESTED = re.compile(
    r"^(?P<key> *)[^\s#-][^\n]*:[ \t]*(?:#[^\n]*)?\n(?P<inner> +)[^\s#-]", re.M
)
_FIRST_LIST = re.compile(r"^(?P<key> *)[^\s#-][^\n]*:[ \t]*(?:#[^\n]*)?\n(?P<dash> *)- ", re.M)
_TAB_AFTER_KEY = re.compile(r"^([^\n#'\"\t]*:)[ ]*\t[ \t]*", re.M)
_INDENT = 2
_ONE_LINE = 4096
_MERGE = "<<"


class UneditableTextError(ValueError):
    """No setting can be changed in the text: it is not one mapping, or what it shares forbids."""


def edit_yaml(text: str, patch: Mapping[str, Any]) -> str:
    """Return `text` with each dotted path set to its value, or removed where that is None.

    A mapping as value replaces the keys of the block and keeps the comments of those that stay;
    None inside it is a value. Raises `UneditableTextError`.
    """
    data = _data(text)
    if data is None:
        raise UneditableTextError("The text is not a YAML mapping.")
    meant = patched(data, patch)
    try:
        if not data:
            return _written(text, patch)
        for parts in (False, True):
            edited = _attempt(text, patch, parts=parts)
            if edited is not None and _data(edited) == meant:
                return edited
    except YAMLError as failure:
        raise UneditableTextError("The text is not a YAML mapping.") from failure
    if text.lstrip().startswith("{"):
        return json.dumps(meant, indent=_INDENT, ensure_ascii=False) + "\n"
    raise UneditableTextError("The text is written in a way in which this cannot be changed.")


def _data(text: str) -> Mapping[str, Any] | None:
    """Return what the text says, None where it is not one mapping."""
    document = read_text(text) if text.strip() else Document(data={}, marks={})
    data = document.data if isinstance(document, Document) else ()
    return {} if data is None else data if isinstance(data, Mapping) else None


def _attempt(text: str, patch: Mapping[str, Any], *, parts: bool) -> str | None:
    try:
        return _edited(text, patch, parts=parts)
    except KeyError:
        return None  # ruamel's blocks that others merge cannot lose a key


def _edited(text: str, patch: Mapping[str, Any], *, parts: bool) -> str:
    editor, readable = _editor(text), _TAB_AFTER_KEY.sub(r"\1 ", text)
    before = _dumped(editor, editor.load(readable))
    content = editor.load(readable)
    for path, value in patch.items():
        if parts:
            part_from_others(content, path, removes=value is None)
        put(content, path, value, _safe)
    return _as_it_was(text, before, _dumped(editor, content))


def _written(text: str, patch: Mapping[str, Any]) -> str:
    editor, content = _editor(text), CommentedMap()
    for path, value in patch.items():
        put(content, path, value, _safe)
    return _dumped(editor, content)


def _dumped(editor: YAML, content: Any) -> str:
    target = io.StringIO()
    editor.dump(content, target)
    return target.getvalue()


def _as_it_was(text: str, before: str, after: str) -> str:
    """Return `after` with the lines that the edit left alone as they stand in `text`."""
    original = text.splitlines(keepends=True)
    written, edited = before.splitlines(keepends=True), after.splitlines(keepends=True)
    if len(original) != len(written):
        return after
    lines: list[str] = []
    for kind, start, end, first, last in SequenceMatcher(
        None, written, edited, autojunk=False
    ).get_opcodes():
        lines += original[start:end] if kind == "equal" else edited[first:last]
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


class _AsWritten(VersionedResolver):
    """Takes every plain scalar as text, so that it is written as it was read: `1e999`, `+1`."""

    def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
        if kind is ScalarNode and implicit[0] and value != _MERGE:
            return self.DEFAULT_SCALAR_TAG
        return super().resolve(kind, value, implicit)


def _editor(text: str) -> YAML:
    editor = YAML()
    editor.Resolver = _AsWritten
    editor.preserve_quotes = True
    editor.width = _ONE_LINE
    nested, listed = _FIRST_NESTED.search(text), _FIRST_LIST.search(text)
    mapping = len(nested["inner"]) - len(nested["key"]) if nested else _INDENT
    offset = len(listed["dash"]) - len(listed["key"]) if listed else _INDENT
    offset = max(0, offset)
    editor.indent(mapping=max(1, mapping), sequence=offset + _INDENT, offset=offset)
    return editor


def _safe(value: Any) -> Any:
    if isinstance(value, Mapping):
        return CommentedMap((name, _safe(item)) for name, item in value.items())
    if isinstance(value, list | tuple):
        return CommentedSeq(_safe(item) for item in value)
    if isinstance(value, str):
        return value if reads_back_as_text(value) else DoubleQuotedScalarString(value)
    return PlainScalarString(yaml.safe_dump(value).removesuffix("\n").removesuffix("\n..."))
