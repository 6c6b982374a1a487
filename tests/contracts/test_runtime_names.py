"""Nobody names a runtime: who wants to know something of one asks `RUNTIMES`."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from controlplane.domain.runtimes import RUNTIMES, Runtime
from controlplane.domain.spec.choices import RUNTIME_NAMES, RUNTIME_ON_CPU, RUNTIME_ON_GPU
from workers.runtimes.launchers import LAUNCHERS

ROOT = Path(__file__).resolve().parents[2]
OWN_FOLDERS = {
    *(f"controlplane/domain/runtimes/{name}" for name in RUNTIME_NAMES),
    *(f"workers/runtimes/{name}" for name in RUNTIME_NAMES),
    "workers/engine",
}
"""The native engine is our own, and lies in two places."""
NAMES_ONE = {
    "controlplane/domain/spec/choices.py": "the list of all, and what `auto` means",
    "controlplane/domain/rules/rule.py": "rules about what one engine alone does or lacks",
    "controlplane/domain/rules/examples.py": "examples of rules",
    "controlplane/domain/runtimes/capability.py": "a grade of support has a runtime's name",
    "controlplane/domain/runtimes/exporting.py": "the closed set of formats that REST offers",
    "controlplane/domain/commands/anchors.py": "programs whose command lines are known",
    "controlplane/domain/commands/invocation.py": "programs whose command lines are known",
    "controlplane/domain/commands/locate_yaml.py": "programs whose command lines are known",
}
_MEMBERS = {name.upper() for name in RUNTIME_NAMES}


def test_every_name_has_its_two_folders() -> None:
    assert set(RUNTIMES) == set(LAUNCHERS) == set(RUNTIME_NAMES)
    assert {RUNTIME_ON_CPU, RUNTIME_ON_GPU} <= set(RUNTIME_NAMES)
    for name, runtime in RUNTIMES.items():
        assert Runtime in type(runtime).__mro__, name
        assert runtime.name == runtime.memory.name == name


def test_no_file_outside_a_runtimes_own_folders_names_it() -> None:
    by_path = {
        path: names
        for file in _python()
        if not _is_own(path := str(file.relative_to(ROOT)))
        and any(each in (text := file.read_text()).casefold() for each in RUNTIME_NAMES)
        and (names := sorted({*_named(ast.parse(text), path)}))
    }
    assert {path: names for path, names in by_path.items() if path not in NAMES_ONE} == {}
    assert set(NAMES_ONE) <= set(by_path), "a file that names none needs no reason"


@pytest.mark.parametrize(
    "code",
    [
        'spec.runtime_name == "native"', 'runtimes = {"vllm": 1}', "RuntimeChoice.TRTLLM",
        "from controlplane.domain.runtimes import vllm",
        "import controlplane.domain.runtimes.vllm.render",
        "from workers.runtimes.native.process import serve", "found(runtimes=TRTLLM)",
    ],
)  # fmt: skip
def test_a_name_is_found(code: str) -> None:
    assert [*_named(ast.parse(code), "apps/somewhere.py")]


@pytest.mark.parametrize(
    "code",
    [
        '"""Of vLLM and the native engine."""', 'say("vLLM does")', "Support.NATIVE",
        'Example(runtimes=frozenset({"native"}))', '{"enginehouse.runtime": "vllm"}',
        "Rule(runtimes=TRTLLM)", "from controlplane.domain.rules.rule import TRTLLM",
    ],
)  # fmt: skip
def test_texts_examples_and_the_engine_of_a_rule_are_left_alone(code: str) -> None:
    assert not [*_named(ast.parse(code), "controlplane/domain/rules/family.py")]


def _is_own(path: str) -> bool:
    return any(path.startswith(f"{folder}/") for folder in OWN_FOLDERS)


def _named(tree: ast.AST, path: str) -> Iterator[str]:
    """Yield the names of runtimes that stand in code, examples and golden data aside."""
    left_alone = {id(each) for node in ast.walk(tree) for each in _left_alone(node, path)}
    for node in ast.walk(tree):
        if id(node) not in left_alone:
            yield from _named_by(node)


def _left_alone(node: ast.AST, path: str) -> Iterator[ast.AST]:
    match node:
        case ast.Call(func=ast.Name(id="Example")):
            yield from ast.walk(node)
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "enginehouse.runtime":
                    yield value
        case ast.Call(func=ast.Name(id="Rule"), keywords=keywords) if "/rules/" in path:
            yield from (each.value for each in keywords if each.arg == "runtimes")
        case ast.ImportFrom(module="controlplane.domain.rules.rule", names=names):
            yield from names
        case ast.Attribute(value=ast.Name(id="Support")):
            yield node


def _named_by(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Constant(value=str(text)) if text in RUNTIME_NAMES:
            yield text
        case ast.Attribute(attr=name) | ast.Name(id=name) if name in _MEMBERS:
            yield name
        case ast.alias(name=name):
            yield from (part for part in name.split(".") if part in {*RUNTIME_NAMES, *_MEMBERS})
        case ast.ImportFrom(module=str(module)) if ".runtimes." in module:
            yield from (part for part in module.split(".") if part in RUNTIME_NAMES)


def _python() -> Iterator[Path]:
    for folder in ("apps", "controlplane", "workers"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            # What REST's documents show, and rows as they were, are data.
            if "migrations" not in path.parts and not (
                folder == "apps" and path.name == "examples.py"
            ):
                yield path
