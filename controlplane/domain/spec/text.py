"""YAML or JSON text -> plain data with the place of every key, within fixed bounds."""

import json
import math
from typing import Any

from controlplane.domain.spec.document import (
    MAX_DEPTH,
    MAX_TEXT_BYTES,
    MAX_VALUES,
    Document,
    RefusedError,
    check_text,
)
from controlplane.domain.spec.errors import SpecError
from controlplane.domain.spec.yaml_reader import read_yaml


def read_text(text: str) -> Document | SpecError:
    """Return the data of YAML or JSON text, or the one error that makes it unreadable."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        return SpecError(path="", message="The file is not UTF-8 text.")
    if size > MAX_TEXT_BYTES:
        return SpecError(path="", message=f"The file is larger than {MAX_TEXT_BYTES // 1024} KiB.")
    text = text.removeprefix("\ufeff")
    return _read_json(text) if text.lstrip().startswith("{") else read_yaml(text)


def read_data(data: Any) -> Document | SpecError:
    """Return data that was parsed elsewhere, held to the same bounds as text."""
    try:
        _check_plain(data, depth=0, budget=[MAX_VALUES])
    except RefusedError as refusal:
        return refusal.error
    return Document(data=data, marks={})


def _read_json(text: str) -> Document | SpecError:
    """Return JSON by JSON's own rules; places come from the YAML reader where it follows."""
    placed = read_yaml(text)
    try:
        data = json.loads(text, object_pairs_hook=_unique_pairs, parse_constant=_refuse_constant)
        _check_plain(data, depth=0, budget=[MAX_VALUES])
    except RefusedError as refusal:
        return placed if isinstance(placed, Document) and placed.errors else refusal.error
    except RecursionError:
        return SpecError(path="", message=f"The file is nested deeper than {MAX_DEPTH} levels.")
    except json.JSONDecodeError as failure:
        return placed if isinstance(placed, Document) else _not_json(failure)
    except ValueError:
        return SpecError(path="", message="A number is too long.")
    return Document(data=data, marks=placed.marks if isinstance(placed, Document) else {})


def _not_json(failure: json.JSONDecodeError) -> SpecError:
    return SpecError(
        path="",
        message=f"The file is not JSON: {failure.msg}.",
        line=failure.lineno,
        column=failure.colno,
    )


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
