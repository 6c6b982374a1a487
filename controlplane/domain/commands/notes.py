"""What an import or an export says of itself, as lines for a terminal."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from controlplane.domain.commands.report import (
    Changed,
    CommandImport,
    ConfigExport,
    NotCarried,
    Question,
)


def import_notes(imported: CommandImport) -> Iterator[str]:
    mapped = (f"{each.flag} -> {each.field}: {_value(each.value)}" for each in imported.mapped)
    yield from _section("Carried over", mapped)
    yield from _section("Carried over with another meaning", map(_changed, imported.changed))
    yield from _section("To decide", (line for each in imported.questions for line in _ask(each)))
    yield from _section("Not imported", map(_not_carried, imported.not_carried))
    secrets = (f"{each.name} (from {each.found_in}): {each.reason}" for each in imported.secrets)
    yield from _section("Secrets to make; their values were not kept", secrets)
    if not imported.complete:
        yield "The config is not complete: it lacks its checkpoint."


def export_notes(exported: ConfigExport) -> Iterator[str]:
    yield from _section("Said with another meaning", map(_changed, exported.changed))
    yield from _section("Not said", map(_not_carried, exported.not_carried))


def _section(heading: str, lines: Iterable[str]) -> Iterator[str]:
    entries = list(lines)
    if entries:
        yield f"{heading}:"
        yield from (f"  {line}" for line in entries)


def _changed(change: Changed) -> str:
    flag = "" if change.flag == change.field else f"{change.flag} -> "
    return f"{flag}{change.field}: {_value(change.value)}. {change.reason}"


def _not_carried(left: NotCarried) -> str:
    return f"{left.flag}: {left.reason}"


def _ask(question: Question) -> Iterator[str]:
    about = f"{question.flag} -> {question.field}" if question.flag else question.field
    yield f"{about}: {question.question}"
    labels = [choice.label for choice in question.choices]
    if labels:
        yield f"    now: {labels[0]}; or: {', '.join(labels[1:])}"


def _value(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
