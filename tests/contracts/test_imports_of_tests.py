"""Each name that tests and benchmarks import is there, also where only a long test imports it."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_OURS = ("apps", "controlplane", "workers", "tests", "benchmarks")
_LOOKED_THROUGH = ("tests", "benchmarks")
_BLOCKS = (ast.If, ast.Try, ast.ExceptHandler, ast.With, ast.For, ast.While)
"""Whose statements bind names where they stand."""
_PARTS = ("body", "handlers", "orelse", "finalbody", "cases")


def test_whatever_is_imported_is_there() -> None:
    files = [file for top in _LOOKED_THROUGH for file in (ROOT / top).rglob("*.py")]
    lost = [each for file in sorted(files) for each in _lost_in(file)]
    assert lost == []


def test_a_lost_name_and_a_lost_module_are_found() -> None:
    assert _is_there("tests.waiting", "wait_for")
    assert _is_there("tests", "waiting")
    assert not _is_there("tests.waiting", "wait_for_ever")
    assert not _is_there("tests.wating", "wait_for")


def _lost_in(file: Path) -> Iterator[str]:
    for node in _statements(ast.parse(file.read_text()), within=ast.AST):
        if isinstance(node, ast.ImportFrom) and _is_ours(node.module):
            for each in node.names:
                if each.name != "*" and not _is_there(str(node.module), each.name):
                    place = f"{file.relative_to(ROOT)}:{node.lineno}"
                    yield f"{place}: {each.name} of {node.module}"


def _is_ours(module: str | None) -> bool:
    return bool(module) and str(module).split(".")[0] in _OURS


def _is_there(module: str, name: str) -> bool:
    place = ROOT.joinpath(*module.split("."))
    if (place / f"{name}.py").is_file() or (place / name).is_dir():
        return True
    file = place.with_suffix(".py") if place.with_suffix(".py").is_file() else place / "__init__.py"
    return file.is_file() and bool({name, "__getattr__"} & _names_of(file))


@cache
def _names_of(file: Path) -> frozenset[str]:
    """Return what a module binds outside its functions and classes."""
    statements = _statements(ast.parse(file.read_text()), within=(ast.Module, *_BLOCKS))
    return frozenset(name for each in statements for name in _bound_by(each))


def _bound_by(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield node.name
        case ast.Import() | ast.ImportFrom():
            yield from ((each.asname or each.name).split(".")[0] for each in node.names)
        case ast.Assign() | ast.AnnAssign() | ast.For() | ast.With():
            yield from (
                each.id
                for each in ast.walk(node)
                if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
            )


def _statements(
    node: ast.AST, *, within: type[ast.AST] | tuple[type[ast.AST], ...]
) -> Iterator[ast.AST]:
    """Yield what stands below a node, without the expressions of it."""
    if not isinstance(node, within):
        return
    for part in _PARTS:
        for each in getattr(node, part, ()):
            yield each
            yield from _statements(each, within=within)
