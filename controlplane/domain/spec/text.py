"""YAML or JSON text -> plain data with the place of every key, within fixed bounds."""

import json
import math
from typing import Any

from controlplane.domain.spec.document import (
    MAX_DEPTH,
    MAX_TEXT_BYTES,
    MAX_VALUES,
    Document,
    Mark,
    RefusedError,
    Unreadable,
    check_text,
)
from controlplane.domain.spec.json_syntax import explain_json
from controlplane.domain.spec.yaml_reader import read_yaml


def read_text(text: str) -> Document | Unreadable:
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        return _refused("The file is not UTF-8 text.")
    if size > MAX_TEXT_BYTES:
        return _refused(f"The file is larger than {MAX_TEXT_BYTES // 1024} KiB.")
    text = text.removeprefix("\ufeff")
    return _read_json(text) if text.lstrip().startswith("{") else read_yaml(text)


def read_data(data: Any) -> Document | Unreadable:
    """Return data that was parsed elsewhere, held to the same bounds as text."""
    try:
        _check_plain(data, depth=0, budget=[MAX_VALUES])
    except RefusedError as refusal:
        return Unreadable(errors=(refusal.error,))
    return Document(data=data, marks={})


def _read_json(text: str) -> Document | Unreadable:
    """Return JSON by JSON's own rules; places come from the YAML reader where it follows."""
    placed = read_yaml(text)
    try:
        data = json.loads(text, object_pairs_hook=_unique_pairs, parse_constant=_refuse_constant)
        _check_plain(data, depth=0, budget=[MAX_VALUES])
    except RefusedError as refusal:
        is_placed = isinstance(placed, Unreadable) or placed.errors
        return placed if is_placed else Unreadable(errors=(refusal.error,))
    except RecursionError:
        return _refused(f"The file is nested deeper than {MAX_DEPTH} levels.")
    except json.JSONDecodeError as failure:
        is_yaml = isinstance(placed, Document)
        return placed if is_yaml else Unreadable(errors=(explain_json(failure, text),))
    except ValueError:
        return _refused("A number is too long.")
    marks = placed.marks if isinstance(placed, Document) else {}
    # Without a single key, what is missing is missing at the beginning.
    return Document(data=data, marks=marks or {(): Mark(line=1, column=1)})


def _refused(message: str) -> Unreadable:
    return Unreadable(errors=(RefusedError(message, Mark(line=1, column=1)).error,))


def _unique_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise RefusedError(f"`{twice}` is given twice.")
    return content


def _refuse_constant(name: str) -> Any:
    raise RefusedError(f"`{name}` is not a finite number.")


def _check_plain(value: Any, *, depth: int, budget: list[int]) -> None:
    budget[0] -= 1
    if depth > MAX_DEPTH or budget[0] < 0:
        raise RefusedError(
            f"The file is nested deeper than {MAX_DEPTH} levels or holds more than "
            f"{MAX_VALUES:,} values."
        )
    if isinstance(value, str):
        check_text(value)
    elif isinstance(value, float) and not math.isfinite(value):
        raise RefusedError("A number is not finite.")
    elif isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise RefusedError(f"The key `{key}` must be text.")
            check_text(key)
            _check_plain(item, depth=depth + 1, budget=budget)
    elif isinstance(value, list | tuple):
        for item in value:
            _check_plain(item, depth=depth + 1, budget=budget)
