"""Turns what the schema found into errors in the user's own values."""

import json
import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from controlplane.domain.facts.gpus import ACCELERATOR_KINDS
from controlplane.domain.facts.unbuilt_types import unbuilt_reason
from controlplane.domain.spec import places
from controlplane.domain.spec.document import Document, Path
from controlplane.domain.spec.errors import Problem, SpecError

_UNION_TAGS = frozenset({"v1", "v2", "http", "grpc", "websocket"})
_EXPECTED = {
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "bool_type": "`true` or `false`",
    "bool_parsing": "`true` or `false`",
    "string_type": "text",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "union_tag_not_found": "a mapping",
}
_WORDED = frozenset(
    {"accelerator", "accelerator_count", "incomplete", "quantity", "version", "ipv4"}
)
"""Kinds whose words are our own already."""
_LONGEST_NUMBER = 20
_NO_SPACE = re.compile(r"(\w+):(\S+)$")
_BOUNDS = {
    "greater_than_equal": ("ge", "at least"),
    "greater_than": ("gt", "more than"),
    "less_than_equal": ("le", "at most"),
    "less_than": ("lt", "less than"),
    "multiple_of": ("multiple_of", "a multiple of"),
}


def describe(failure: ValidationError, document: Document, *, stack: str) -> Iterator[SpecError]:
    seen: set[Path] = set()
    for detail in failure.errors(include_url=False):
        path = _path(detail["loc"], document.data)
        if path not in seen:
            seen.add(path)
            yield _describe(detail, path, document, stack)


def at(document: Document, path: Path, message: str, problem: Problem, **more: Any) -> SpecError:
    """Return an error placed at the line of `path`, or of its nearest parent in the text."""
    mark = document.mark(path) or document.start
    return SpecError(
        path=dotted(path),
        message=message,
        line=mark.line if mark else None,
        column=mark.column if mark else None,
        problem=problem,
        **more,
    )


def dotted(path: Path) -> str:
    return ".".join(map(str, path))


def _describe(detail: ErrorDetails, path: Path, document: Document, stack: str) -> SpecError:
    kind, given, context = detail["type"], detail.get("input"), detail.get("ctx") or {}
    name = path[-1] if path else "the file"
    if kind == "extra_forbidden":
        return _unknown_key(path, document, stack, given)
    if kind == "missing":
        return at(
            document,
            path,
            f"`{dotted(path)}` is missing.",
            Problem.MISSING,
            hint=_hint_for_missing(path),
        )
    if kind in _BOUNDS:
        key, words = _BOUNDS[kind]
        message = f"`{name}` is {_show(given)}; it must be {words} {context.get(key)}."
        return at(document, path, message, Problem.NOT_ALLOWED)
    if kind in ("enum", "literal_error", "union_tag_invalid"):
        return _not_among(path, document, given, context)
    if kind in _EXPECTED:
        message = f"`{name}` is {_show(given)}; it must be {_EXPECTED[kind]}."
        hint, meant = _hint_for_type(kind, given), _meant(kind, given)
        patch = None if meant is None else {dotted(path): meant}
        return at(document, path, message, Problem.WRONG_TYPE, hint=hint, patch=patch)
    return _own_words(detail, path, document)


def _own_words(detail: ErrorDetails, path: Path, document: Document) -> SpecError:
    kind, given = detail["type"], detail.get("input")
    context = detail.get("ctx") or {}
    message, hint = detail["msg"], None
    if kind == "accelerator_kind":
        close = get_close_matches(str(context["kind"]).upper(), ACCELERATOR_KINDS, n=1, cutoff=0.5)
        known = ", ".join(ACCELERATOR_KINDS)
        hint = f"Did you mean `{close[0]}`? Known: {known}." if close else f"Known: {known}."
    elif kind == "repository_id":
        path = (*path, str(context["field"]))
        hint = "Write `owner/name` as in the address of its page on the hub."
    elif kind == "string_pattern_mismatch":
        message = f"{_show(given)} does not match {context.get('pattern')}"
    elif kind in ("string_too_short", "string_too_long"):
        message = f"`{path[-1] if path else ''}` is empty or too long"
    elif kind not in _WORDED:
        message = f"`{dotted(path)}` is {_show(given)}: {message[:1].lower()}{message[1:]}"
    return at(document, path, f"{message}.", Problem.NOT_ALLOWED, hint=hint)


def _unknown_key(path: Path, document: Document, stack: str, given: Any) -> SpecError:
    key, block = str(path[-1]), path[:-1]
    where = f"under `{dotted(block)}`" if block else "at the top of the file"
    message = f"`{key}` is not a setting {where}."
    if stack == "v1" and key in places.FOREIGN and block in ((), ("trt_llm",)):
        there = places.FOREIGN[key]
        patch = {dotted(path): None, there: given}
        return at(
            document,
            path,
            message,
            Problem.MISPLACED_KEY,
            hint=f"Here it is `{there}`.",
            patch=patch,
        )
    if "trt_llm" in block and key in places.REMOVED:
        return at(
            document,
            path,
            message,
            Problem.UNKNOWN_KEY,
            hint=places.REMOVED[key],
            patch={dotted(path): None},
        )
    slip = places.closest(key, block, stack=stack)
    if slip is not None:
        patch = {dotted(path): None, dotted((*block, slip)): given}
        taken = isinstance(parent := _value_at(document.data, block), Mapping) and slip in parent
        return at(
            document,
            path,
            message,
            Problem.UNKNOWN_KEY,
            hint=f"Did you mean `{slip}`?",
            patch=None if taken else patch,
        )
    if home := next((home for home in places.homes(key, stack=stack) if home != block), None):
        place = f"`{dotted(home)}`" if home else "the top of the file"
        patch = {dotted(path): None, dotted((*home, key)): given}
        return at(
            document,
            path,
            message,
            Problem.MISPLACED_KEY,
            hint=f"It belongs under {place}.",
            patch=patch,
        )
    return _nearly(path, document, stack, given)


def _nearly(path: Path, document: Document, stack: str, given: Any) -> SpecError:
    """Return the error for a key that is no setting of any block, with the one that it is like."""
    key, block = str(path[-1]), path[:-1]
    where = f"under `{dotted(block)}`" if block else "at the top of the file"
    message = f"`{key}` is not a setting {where}."
    if nearest := places.nearest(key, stack=stack):
        home = (*nearest[0], nearest[1])
        return at(
            document,
            path,
            message,
            Problem.MISPLACED_KEY,
            hint=f"Did you mean `{dotted(home)}`?",
            patch={dotted(path): None, dotted(home): given},
        )
    near = get_close_matches(key, places.keys_at(block, stack=stack), n=1, cutoff=0.5)
    hint = f"Did you mean `{near[0]}`?" if near else None
    return at(document, path, message, Problem.UNKNOWN_KEY, hint=hint)


def _not_among(path: Path, document: Document, given: Any, context: Mapping[str, Any]) -> SpecError:
    expected = str(context.get("expected") or context.get("expected_tags") or "")
    allowed = [word.strip().strip("'") for word in expected.replace(" or ", ", ").split(",")]
    if context.get("discriminator"):
        path = (*path, "inference_stack" if path[-1:] == ("trt_llm",) else "kind")
        given = context.get("tag")
    same = [word for word in allowed if word.lower() == str(given).strip().lower()]
    close = same or get_close_matches(str(given), allowed, n=1, cutoff=0.5)
    known = "Allowed: " + ", ".join(f"`{word}`" for word in allowed) + "."
    message = f"`{path[-1]}` is {_show(given)}, which is not one of its values."
    reason = unbuilt_reason(str(given)) if path[-1:] == ("quantization_type",) else None
    meant = reason or (f"Did you mean `{close[0]}`?" if close else "")
    hint = f"{meant} {known}".strip()
    patch = {dotted(path): same[0]} if same else None
    return at(document, path, message, Problem.NOT_ALLOWED, hint=hint, patch=patch)


def _path(location: tuple[int | str, ...], data: Any) -> Path:
    path: list[int | str] = []
    for step in location:
        value = _value_at(data, tuple(path))
        in_data = isinstance(value, Mapping) and step in value
        if step in ("[key]", "str", "int", "float", "dict", "list") and not in_data:
            break
        if step in _UNION_TAGS and not in_data:
            continue
        path.append(step)
    return tuple(path)


def _value_at(data: Any, path: Path) -> Any:
    for step in path:
        if isinstance(data, Mapping):
            data = data.get(step)
        elif isinstance(data, list) and isinstance(step, int) and step < len(data):
            data = data[step]
        else:
            return None
    return data


def _show(given: Any) -> str:
    if given is None:
        return "empty"
    if isinstance(given, Mapping):
        return "a mapping"
    if isinstance(given, list):
        return "a list"
    text = json.dumps(given, ensure_ascii=False) if isinstance(given, str | bool) else str(given)
    return f"`{text if len(text) <= 60 else text[:57] + '…'}`"


def _hint_for_type(kind: str, given: Any) -> str | None:
    if isinstance(given, str) and (tight := _NO_SPACE.match(given)) and kind.startswith("model_"):
        return f"Write a space after the colon: `{tight[1]}: {tight[2]}`."
    if given is None and kind in ("dict_type", "model_type", "model_attributes_type"):
        return "Write `{}` for the defaults, or leave the key out."
    if kind == "int_type" and isinstance(given, str) and given.strip().isdigit():
        return f"Write {given.strip()} without quotes."
    if kind == "string_type" and isinstance(given, int | float):
        return f'Write it in quotes: "{str(given).lower() if isinstance(given, bool) else given}".'
    return None


def _meant(kind: str, given: Any) -> str | int | None:
    """Return the value in the type that the setting takes, where only the quotes are wrong."""
    if kind == "int_type" and isinstance(given, str) and given.strip().isascii():
        return int(given) if given.strip().isdigit() and len(given) < _LONGEST_NUMBER else None
    if kind == "string_type" and isinstance(given, int | float) and not isinstance(given, bool):
        return str(given)
    return None


def _hint_for_missing(path: Path) -> str | None:
    match path:
        case ("trt_llm", "build"):
            return "It names the checkpoint and how to prepare it."
        case ("trt_llm", "runtime"):
            return "The v2 stack requires it; `runtime: {}` takes the defaults."
        case (*above, "source") if "weights" not in above:
            return "Write `source: HF` for the hub, or `source: LOCAL` for a folder."
    return None
