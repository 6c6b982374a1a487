"""Reads from the source which failure codes it can raise."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
_CODE = re.compile(r"E[A-Z0-9]{2}-[A-Z0-9]+(?:-[A-Z0-9]+)*")
_SUFFIX = re.compile(r"-[A-Z]+(?:-[A-Z]+)*")
_MAY_HOLD_ONE = re.compile(r"E[A-Z0-9]{2}-[A-Z0-9]|[}\"']-[A-Z]")
"""What a text without has neither: parsing all of the source takes seconds."""
_BUCKETS = ROOT / "controlplane" / "sources" / "bucket_failures.py"
_ELSEWHERE = ("failure_patterns", "failure_catalogue")


def codes_in_source() -> set[str]:
    """Return every code that stands in the source whole."""
    return {code for tree in _trees() for code in _strings(tree) if _CODE.fullmatch(code)}


def suffixes_in_source() -> set[str]:
    """Return the codes that are put together from the prefix of a source and a suffix."""
    joined = {
        part.value
        for tree in _trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in node.values
        if isinstance(part, ast.Constant)
        and isinstance(part.value, str)
        and _SUFFIX.fullmatch(part.value)
    }
    of_buckets = {
        f"-{text}"
        for text in _strings(ast.parse(_BUCKETS.read_text()))
        if re.fullmatch(r"[A-Z]{2,}(?:-[A-Z]+)*", text)
    }
    return joined | of_buckets


@cache
def _trees() -> tuple[ast.Module, ...]:
    paths = (
        path
        for package in ("controlplane", "apps", "workers")
        for path in sorted((ROOT / package).rglob("*.py"))
        if not any(name in path.parts for name in _ELSEWHERE)
    )
    texts = (path.read_text() for path in paths)
    return tuple(ast.parse(text) for text in texts if _MAY_HOLD_ONE.search(text))


def _strings(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
