"""YAML -> plain data, built from the parser's events.

Duplicate keys, alias bombs, tags and depth are met before they cost anything, and every key keeps
its line. Scalars follow YAML 1.1, as in truss.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from controlplane.domain.spec.document import (
    MAX_DEPTH,
    MAX_INTEGER_CHARACTERS,
    MAX_SCALAR_CHARACTERS,
    MAX_VALUES,
    Document,
    Mark,
    Path,
    RefusedError,
    Unreadable,
    check_text,
    duplicate,
)
from controlplane.domain.spec.errors import SpecError
from controlplane.domain.spec.yaml_slips import Slip
from controlplane.domain.spec.yaml_syntax import explain

MOST_SLIPS = 10
"""Syntax errors that one reading goes past; of each line the first is told."""
_QUOTE = "Write the value in quotes if it is text."
_PARSER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_RESOLVER: Any = yaml.resolver.Resolver()
_CONSTRUCTOR = yaml.constructor.SafeConstructor()
_TAGS = "tag:yaml.org,2002:"
_MERGE = f"{_TAGS}merge"
_AS_TEXT = frozenset({f"{_TAGS}str", f"{_TAGS}timestamp", f"{_TAGS}value"})
_AS_VALUE: Mapping[str, Callable[[yaml.ScalarNode], Any]] = {
    f"{_TAGS}null": _CONSTRUCTOR.construct_yaml_null,
    f"{_TAGS}bool": _CONSTRUCTOR.construct_yaml_bool,
    f"{_TAGS}int": _CONSTRUCTOR.construct_yaml_int,
    f"{_TAGS}float": _CONSTRUCTOR.construct_yaml_float,
}


def read_yaml(text: str) -> Document | Unreadable:
    """Return the one document in `text`, or every slip that keeps it from being one."""
    slips: dict[int | None, SpecError] = {}
    for _ in range(MOST_SLIPS):
        content = _read(text)
        if isinstance(content, Document):
            return Unreadable(errors=tuple(slips.values()), mended=content) if slips else content
        slips.setdefault(content.error.line, content.error)
        if content.mended is None:
            break
        text = content.mended
    return Unreadable(errors=tuple(slips.values()))


def _read(text: str) -> Document | Slip:
    reader = _Reader()
    try:
        data = reader.read(text)
    except RefusedError as refusal:
        return Slip(error=refusal.error)
    except yaml.YAMLError as failure:
        return explain(failure, text, reader.last_event)
    return Document(data=data, marks=reader.marks, errors=tuple(reader.errors))


def reads_back_as_text(value: str) -> bool:
    return _RESOLVER.resolve(yaml.ScalarNode, value, (True, False)) in _AS_TEXT


@dataclass
class _Reader:
    """Builds plain data and counts what aliases multiply."""

    marks: dict[Path, Mark] = field(default_factory=dict)
    errors: list[SpecError] = field(default_factory=list)
    anchors: dict[str, Any] = field(default_factory=dict)
    values: int = 0
    last_event: Any = None

    def read(self, text: str) -> Any:
        events = self._events(text)
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                content = self._value(next(events), events, ())
                _refuse_more_documents(events)
                return content
        return None

    def _events(self, text: str) -> Iterator[Any]:
        for event in yaml.parse(text, Loader=_PARSER):
            self.last_event = event
            yield event

    def _value(self, event: Any, events: Iterator[Any], path: Path) -> Any:
        self._count(1, event)
        if len(path) > MAX_DEPTH:
            raise RefusedError(f"The file is nested deeper than {MAX_DEPTH} levels.", _mark(event))
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        value: Any
        if isinstance(event, yaml.ScalarEvent):
            value = _scalar(event)
        elif isinstance(event, yaml.SequenceStartEvent):
            value = self._sequence(event, events, path)
        else:
            value = self._mapping(event, events, path)
        if event.anchor:
            self.anchors[event.anchor] = value
        return value

    def _alias(self, event: Any) -> Any:
        if event.anchor not in self.anchors:
            raise RefusedError(f"`*{event.anchor}` refers to nothing above it.", _mark(event))
        value = self.anchors[event.anchor]
        self._count(_size(value), event)
        return value

    def _sequence(self, event: Any, events: Iterator[Any], path: Path) -> list[Any]:
        _refuse_tag(event, "seq")
        items: list[Any] = []
        for item in events:
            if isinstance(item, yaml.SequenceEndEvent):
                return items
            self.marks[*path, len(items)] = _mark(item)
            items.append(self._value(item, events, (*path, len(items))))
        return items

    def _mapping(self, event: Any, events: Iterator[Any], path: Path) -> dict[str, Any]:
        _refuse_tag(event, "map")
        content: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key_event in events:
            if isinstance(key_event, yaml.MappingEndEvent):
                break
            self._count(1, key_event)
            key = _key(key_event)
            if key is None:
                sources = self._value(next(events), events, path)
                merged = {**_merge_sources(sources, _mark(key_event)), **merged}
                continue
            if key in content:
                self.errors.append(duplicate((*path, key), _mark(key_event)))
            self.marks.setdefault((*path, key), _mark(key_event))
            content[key] = self._value(next(events), events, (*path, key))
        return {**merged, **content} if merged else content

    def _count(self, values: int, event: Any) -> None:
        self.values += values
        if self.values > MAX_VALUES:
            raise RefusedError(f"The file holds more than {MAX_VALUES:,} values.", _mark(event))


def _refuse_more_documents(events: Iterator[Any]) -> None:
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent):
            raise RefusedError(
                "The file holds more than one document.", _mark(event), hint="Keep one of them."
            )


def _key(event: Any) -> str | None:
    """Return the key, or None for a merge (`<<`)."""
    if not isinstance(event, yaml.ScalarEvent):
        is_template = isinstance(event, yaml.MappingStartEvent) and event.flow_style
        hint = "`{{ }}` is a template, which nothing fills in here: write its value."
        raise RefusedError(
            "A key must be plain text.", _mark(event), hint=hint if is_template else None
        )
    if event.value[:1].isspace() and event.style not in ("'", '"'):
        name = f"U+{ord(event.value[0]):04X}"
        raise RefusedError(
            f"The line is indented with {name}, which only looks like a space.",
            _mark(event),
            hint="Indent it with plain spaces.",
        )
    if _tag(event) == _MERGE:
        return None
    key = _scalar(event)
    if not isinstance(key, str):
        raise RefusedError(
            f"The key `{event.value}` reads as a number or a switch; write it in quotes.",
            _mark(event),
        )
    return key


def _scalar(event: Any) -> Any:
    value, tag, mark = event.value, _tag(event), _mark(event)
    if len(value) > MAX_SCALAR_CHARACTERS:
        raise RefusedError(f"A value is longer than {MAX_SCALAR_CHARACTERS:,} characters.", mark)
    if tag in _AS_TEXT:
        return check_text(value, mark)
    if tag not in _AS_VALUE:
        name = tag.removeprefix(_TAGS)
        raise RefusedError(f"The tag `{name}` is not supported.", mark, hint=_QUOTE)
    if tag == f"{_TAGS}int" and len(value) > MAX_INTEGER_CHARACTERS:
        raise RefusedError("A number is too long.", mark)
    try:
        constructed = _AS_VALUE[tag](yaml.ScalarNode(tag, value))
    except (ValueError, KeyError, IndexError, OverflowError):
        raise RefusedError(f"`{value[:40]}` cannot be read.", mark) from None
    if isinstance(constructed, float) and not math.isfinite(constructed):
        raise RefusedError(f"`{value[:40]}` is not a finite number.", mark)
    return constructed


def _tag(event: Any) -> str:
    if event.tag and event.tag != "!":
        return str(event.tag)
    if event.tag == "!":
        return f"{_TAGS}str"
    return str(_RESOLVER.resolve(yaml.ScalarNode, event.value, event.implicit))


def _refuse_tag(event: Any, expected: str) -> None:
    if event.tag and event.tag not in ("!", f"{_TAGS}{expected}"):
        raise RefusedError(f"The tag `{event.tag}` is not supported.", _mark(event), hint=_QUOTE)


def _merge_sources(value: Any, mark: Mark) -> dict[str, Any]:
    sources = value if isinstance(value, list) else [value]
    merged: dict[str, Any] = {}
    for source in reversed(sources):
        if not isinstance(source, dict):
            raise RefusedError("`<<` must name a mapping.", mark)
        merged |= source
    return merged


def _size(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + sum(1 + _size(item) for item in value.values())
    return 1 + sum(map(_size, value)) if isinstance(value, list) else 1


def _mark(event: Any) -> Mark:
    return Mark(line=event.start_mark.line + 1, column=event.start_mark.column + 1)
