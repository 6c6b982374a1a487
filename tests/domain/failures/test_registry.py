"""Code, blame and words of a failure stand once, and each place that raises one fills its words."""

import ast
import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from string import Formatter
from typing import Any

from controlplane.domain.failures.kind import FailureKind
from controlplane.domain.failures.patterns.table import PATTERNS
from controlplane.domain.failures.reference import families
from controlplane.domain.failures.registry.table import RAISED
from tests.domain.failures.constructors import (
    FOR_KINDS,
    constructors,
    failures_of,
    names_given_by,
)
from tests.every_case import every_case

ROOT = Path(__file__).resolve().parents[3]
REGISTRY = ROOT / "controlplane" / "domain" / "failures" / "registry"
_REGISTRY = "controlplane.domain.failures.registry"
CODE = re.compile(r"E[A-Z0-9]{2}-[A-Z0-9]+(?:-[A-Z0-9]+)*")
KINDS = [kind for family in RAISED for kind in family.kinds]


def test_a_code_has_one_family_and_one_blame_wherever_it_comes_from() -> None:
    titles, blames = {}, {}
    for family in RAISED:
        for kind in family.kinds:
            for code in kind.codes:
                assert titles.setdefault(code, family.title) == family.title, code
    for kind in (*KINDS, *PATTERNS):
        for code in kind.codes:
            assert blames.setdefault(code, kind.blame) is kind.blame, code


@every_case("kind", KINDS, ids=lambda kind: "/".join(kind.codes))
def test_a_kind_has_a_code_and_words(kind: FailureKind) -> None:
    assert all(CODE.fullmatch(code) for code in kind.codes)
    for text in (kind.sentence, kind.hint):
        assert text[0].isupper() or text.startswith(("`", "{"))
        assert not re.search(r"  | \.(?:\s|$)", text)


@every_case("constructor", constructors(), ids=lambda each: f"{each.__module__}.{each.__name__}")
def test_whoever_raises_a_failure_gives_it_every_value_that_its_words_name(
    constructor: Callable[..., Any],
) -> None:
    for failure in failures_of(constructor):
        assert failure.sentence
        assert not re.search(r"\{\w*\}", failure.sentence + (failure.hint or ""))


def test_a_kind_that_is_raised_by_name_is_given_every_value_that_its_words_name() -> None:
    looked_at = 0
    for path, tree in _trees().items():
        kinds = _kinds_named_in(tree)
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            given = {word.arg for word in call.keywords}
            named = [kinds[text] for text in _kinds_of(call) if text in kinds]
            if not named or None in given:
                continue
            looked_at += 1
            for kind in named:
                missing = _names_in(kind) - given - _given_by(path, call)
                assert not missing, f"{path}:{call.lineno} lacks {sorted(missing)}"
    assert looked_at > 150


def _kinds_of(call: ast.Call) -> list[str]:
    """Return what may be a kind: the first argument, either of two, or what `failure` is asked."""
    if ast.unparse(call.func) == "Pattern.of":  # its words are the log's
        return []
    first = call.args[0] if call.args else None
    if isinstance(call.func, ast.Attribute) and call.func.attr == "failure":
        first = call.func.value
    either = (first.body, first.orelse) if isinstance(first, ast.IfExp) else (first,)
    return [ast.unparse(each) for each in either if isinstance(each, ast.Attribute)]


def _kinds_named_in(tree: ast.Module) -> dict[str, FailureKind]:
    modules = {
        name.asname or name.name: import_module(f"{_REGISTRY}.{name.name}")
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == _REGISTRY
        for name in node.names
    }
    return {
        f"{module}.{name}": kind
        for module, content in modules.items()
        for name, kind in vars(content).items()
        if isinstance(kind, FailureKind)
    }


def _names_in(kind: FailureKind) -> set[str]:
    parts = [*Formatter().parse(kind.sentence), *Formatter().parse(kind.hint)]
    return {name for _, name, _, _ in parts if name}


def _given_by(path: Path, call: ast.Call) -> set[str]:
    name = ast.unparse(call.func).rpartition(".")[2]
    if name not in FOR_KINDS:
        return set()
    module = import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    return names_given_by(getattr(module, name))


def test_every_kind_is_raised_somewhere() -> None:
    raised = {
        node.attr
        for path, tree in _trees().items()
        if REGISTRY not in path.parents
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
    }
    names = {
        target.id
        for path in REGISTRY.glob("*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        for target in node.targets
        if isinstance(target, ast.Name) and not target.id.startswith("_")
    }
    assert names - raised == set()


def test_no_code_stands_in_the_source_that_nothing_explains() -> None:
    known = {code for family in families() for kind in family.kinds for code in kind.codes}
    strays = {
        node.value
        for tree in _trees().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and CODE.fullmatch(node.value)
    }
    assert strays <= known


@cache
def _trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text()) for path in _sources()}


def _sources() -> Iterator[Path]:
    """Of the product's files, those with a code or a name like a kind's: others say nothing."""
    for package in ("controlplane", "apps", "workers"):
        for path in (ROOT / package).rglob("*.py"):
            text = path.read_text()
            if CODE.search(text) or "failures" in text:
                yield path
